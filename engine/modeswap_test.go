package engine_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// The modes of gate and ladder are the configuration's: from the beginning, and
// again when a Swap changes them; one that a Swap does not change stays as it
// was set.
func TestLayerModesComeFromTheConfiguration(t *testing.T) {
	cfg := engine.Config{Gate: engine.Gate{Capacity: 10, Mode: engine.Shadow}, Ladder: engine.Ladder{Mode: engine.Off}}
	f := start(t, cfg)
	modes := func() [2]engine.Mode {
		m := f.Snapshot().Modes
		return [2]engine.Mode{m["fleet"], m["worker"]}
	}
	require.Equal(t, [2]engine.Mode{engine.Shadow, engine.Off}, modes())
	require.NoError(t, f.SetMode("fleet", engine.Off))
	require.NoError(t, f.SetMode("worker", engine.Shadow))
	require.NoError(t, f.Swap(f.config(cfg)))
	require.Equal(t, [2]engine.Mode{engine.Off, engine.Shadow}, modes(), "set by hand")
	cfg.Gate.Mode = engine.Enforce
	require.NoError(t, f.Swap(f.config(cfg)))
	require.Equal(t, [2]engine.Mode{engine.Enforce, engine.Shadow}, modes())
	cfg.Ladder.Mode = engine.Enforce
	require.NoError(t, f.Swap(f.config(cfg)))
	require.Equal(t, [2]engine.Mode{engine.Enforce, engine.Enforce}, modes())
	cfg.Gate.Mode, cfg.Ladder.Mode = engine.Off, engine.Off
	require.NoError(t, f.Swap(f.config(cfg)))
	require.Equal(t, [2]engine.Mode{engine.Off, engine.Off}, modes())
}

// In a full table the words of a limit that is set to watching give way to those
// of enforced ones, at once; set to enforcing, they stay; and enforced words
// never give way, whatever mode is set elsewhere.
func TestWordsGiveWayByTheModeThatIsSet(t *testing.T) {
	for _, off := range []engine.Mode{engine.Shadow, engine.Off, engine.Ramp(0.5, 0)} {
		first, api := tokens("first", 1, time.Hour, 2), tokens("api", 1, time.Hour, 2)
		first.Overflow, api.Overflow = engine.OverflowClosed, engine.OverflowClosed
		f := start(t, engine.Config{Limits: []engine.Limit{first, api, tokens("other", 1, time.Hour, 1)}, MaxEntries: 100})
		for i := range 3000 {
			f.take("first", fmt.Sprint(i), 1)
		}
		fits := func(key string) bool { return f.take("api", key, 1).OK() }
		require.False(t, fits("a"), "the table is full")
		require.NoError(t, f.SetMode("other", off))
		require.False(t, fits("a"), "of enforced words, for another's mode is of no concern")
		require.NoError(t, f.SetMode("first", off))
		require.True(t, fits("a"), "mode %v", off)
		require.NoError(t, f.SetMode("first", engine.Enforce))
		for i := range 20 {
			require.False(t, fits(fmt.Sprint("b", i)), "mode %v", off)
		}
		require.True(t, fits("a"), "and who is in it stays")
		require.False(t, fits("a"))
	}
}

// A Swap that changes what a limit allows and its mode changes both at once: no
// request is decided by the one before and the other after.
func TestASwapOfLimitAndModeIsOne(t *testing.T) {
	// Neither refuses anything; one's kind with the other's mode refuses all.
	first := shared(tokens("first", 1, time.Hour, 1))
	watches := []engine.Limit{first, {Name: "api", Kind: engine.Block, Mode: engine.Shadow}}
	passes := []engine.Limit{first, {Name: "api", Kind: engine.Unlimited}}
	f, fleet := startShared(t, limits(passes...))
	claims := []engine.Claim{f.claim("api", "u", 1)}
	asked := 0
	fleet.bound["first"].during = func(call string) {
		if call == "watch" { // in the midst of a Swap
			asked++
			tk := f.Admit(engine.Request{Class: engine.Read, Claims: claims})
			require.True(t, tk.OK())
		}
	}
	for _, ls := range [][]engine.Limit{watches, passes, watches} {
		cfg := f.config(limits(ls...))
		cfg.Sync, cfg.Secret = fleet, fleetSecret
		require.NoError(t, f.Swap(cfg))
	}
	require.Equal(t, 3, asked)
	require.NoError(t, f.SetMode("api", engine.Off))
	require.Equal(t, 4, asked)

	fleet.bound["first"].during = func(string) { panic("watch") }
	require.NoError(t, f.SetMode("api", engine.Shadow))
	tk := f.Admit(engine.Request{Class: engine.Read, Claims: claims})
	require.True(t, tk.OK(), "a fleet that does not want to know changes no mode")
	require.EqualValues(t, 1, f.Snapshot().Faults)
	fleet.bound["first"].during = nil
}

// Shares that are none, or no numbers, are 0 in both halves of the word, and
// each half holds every share by itself.
func TestSharesOfAModeAreHeldApart(t *testing.T) {
	const one = 1 << 16
	for _, x := range []float64{-3, -math.SmallestNonzeroFloat64, 0, math.NaN(), math.Inf(-1)} {
		require.Zero(t, engine.Ramp(x, 0.5).Enabled(), "%v", x)
		require.Equal(t, 0.5, engine.Ramp(x, 0.5).Enforced())
		require.Zero(t, engine.Ramp(0.5, x).Enforced(), "%v", x)
		require.Equal(t, 0.5, engine.Ramp(0.5, x).Enabled())
	}
	for _, a := range []float64{0, 1, 2, 3, one / 2, one - 2, one - 1, one} {
		for _, b := range []float64{0, 1, 2, 3, one / 2, one - 2, one - 1, one} {
			m := engine.Ramp(a/one, b/one)
			require.Equal(t, [2]float64{a / one, b / one}, [2]float64{m.Enabled(), m.Enforced()})
		}
	}
}

// A claim that costs nothing, a limit that passes everything and one that is off
// hide no claim that stands behind them.
func TestClaimsThatPassHideNoOther(t *testing.T) {
	for _, class := range []engine.Class{engine.Read, engine.ClassUnset} { // two ways to decide
		for _, passes := range []string{"free", "open", "off"} {
			f := start(t, limits(tokens("free", 1, time.Hour, 9), engine.Limit{Name: "open", Kind: engine.Unlimited},
				tokens("off", 1, time.Hour, 1), tokens("api", 1, time.Hour, 2), inFlight("jobs", 5)))
			require.NoError(t, f.SetMode("off", engine.Off))
			cost := map[string]int64{"free": 0, "open": 1, "off": 1}[passes]
			for _, behind := range [][]string{{"api"}, {"api", "jobs"}} {
				f.request(engine.Read, "v", "api")
				claims := []engine.Claim{f.claim(passes, "u", cost)}
				for _, n := range behind {
					claims = append(claims, f.claim(n, "u", 1))
				}
				tk := f.Admit(engine.Request{Class: class, Claims: claims})
				require.True(t, tk.OK())
				require.EqualValues(t, len(behind)-1, f.inUse("jobs"))
				tk.Done(engine.Success)
			}
			require.False(t, f.take("api", "u", 1).OK(), "behind %s nothing was charged", passes)
		}
	}
}

// Whoever cannot be told from others takes their chance anew with each request:
// at half a level about half of them pass.
func TestRequestsWithoutIdentityAreShedByTheirShare(t *testing.T) {
	var l load
	f := start(t, engine.Config{Ladder: engine.Ladder{Signal: l.read}})
	l.set(1.2)
	for f.Snapshot().Ladder.Level < 0.4 {
		f.clock.Advance(100 * time.Millisecond)
	}
	level := f.Snapshot().Ladder.Level
	require.Less(t, level, 0.8)
	passed := 0
	const n = 4000
	for range n {
		if tk := f.Admit(engine.Request{Class: engine.Test}); tk.OK() {
			passed++
			tk.Done(engine.Success)
		}
	}
	require.InDelta(t, 1-level, float64(passed)/n, 0.05)
}

// The first fault is told, and the thousandth is not; each request is counted
// once, however often it had to be decided.
func TestAFaultIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	clock := engine.NewManualClock(noon)
	e := engine.Must(engine.New(engine.Config{
		Limits: []engine.Limit{shared(tokens("open", 1, time.Hour, 1000)), tokens("own", 1, time.Hour, 1000)},
		Clock:  clock, Secret: fleetSecret, Sync: brokenStore{}, MaxEntries: 100, Logger: slog.New(slog.NewTextHandler(&out, nil)),
	}))
	f := &fixture{e, t, clock}
	require.NotContains(t, out.String(), "fault")
	for range 100 {
		tk := f.Admit(engine.Request{Claims: []engine.Claim{f.claim("own", "u", 1), f.claim("open", "u", 1)}})
		require.True(t, tk.OK())
		tk.Done(engine.Success)
	}
	clock.Advance(time.Second)
	require.Equal(t, 1, strings.Count(out.String(), "a fault inside weir"), out.String())
	s := f.Snapshot()
	require.EqualValues(t, 100, s.Unclassified)
	require.EqualValues(t, 100, s.Admitted[engine.Read])
	require.EqualValues(t, 100, s.Faults)
	require.EqualError(t, e.Close(), "broken")
}
