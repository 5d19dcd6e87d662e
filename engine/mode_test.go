package engine_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// A watching limit that is spent decides nothing, in whatever order it stands:
// the enforced one decides as if it were alone.
func TestSpentShadowLimitDecidesNothing(t *testing.T) {
	for _, order := range [][]string{{"shadow", "enforced"}, {"enforced", "shadow"}} {
		f := start(t, limits(watched(tokens("shadow", 1, time.Hour, 1)), tokens("enforced", 2, time.Hour, 2)))
		var got []bool
		for range 4 {
			tk := f.request(engine.Read, "u", order...)
			got = append(got, tk.OK())
			tk.Done(engine.Success)
		}
		require.Equal(t, []bool{true, true, false, false}, got)
		s := f.Snapshot()
		require.EqualValues(t, 3, s.Limits[0].WouldRefuse[engine.Read][engine.Limited], "apart from the outcomes")
		require.Zero(t, s.Limits[0].Refused[engine.Read][engine.Limited])
		require.EqualValues(t, 2, s.Limits[1].Refused[engine.Read][engine.Limited])
		require.EqualValues(t, 2, s.Admitted[engine.Read])
		require.Zero(t, s.Limits[1].WouldRefuse[engine.Read][engine.Limited])
	}
}

// A watching limit keeps its own state as if it were enforced: of what it would
// refuse it holds nothing, of what others refuse neither.
func TestShadowLimitCountsAsIfItWereEnforced(t *testing.T) {
	f := start(t, limits(watched(inFlight("jobs", 2)), inFlight("total", 4), watched(tokens("api", 1, time.Second, 1))))
	var open []*engine.Ticket
	for i := range 6 {
		tk := f.request(engine.Read, "u", "jobs", "total")
		require.Equal(t, i < 4, tk.OK())
		open = append(open, &tk)
	}
	require.EqualValues(t, 2, f.inUse("jobs"))
	require.EqualValues(t, 4, f.Snapshot().Limits[0].WouldRefuse[engine.Read][engine.Full])
	for _, tk := range open {
		tk.Done(engine.Success)
	}
	require.Zero(t, f.inUse("jobs"))
	require.Zero(t, f.inUse("total"))

	// Decided on the true time like an enforced one, not on the published one.
	for range 5 {
		require.True(t, f.take("api", "u", 1).OK())
		f.clock.Drift(time.Second)
	}
	require.Zero(t, f.Snapshot().Limits[2].WouldRefuse[engine.Read][engine.Limited])
	require.True(t, f.take("api", "u", 1).OK())
	require.True(t, f.take("api", "u", 1).OK())
	require.EqualValues(t, 1, f.Snapshot().Limits[2].WouldRefuse[engine.Read][engine.Limited])
}

// Now and then the log says whom a watching limit would have hit, without the
// key unless it may.
func TestShadowSamplesAreLogged(t *testing.T) {
	for _, redact := range []func(key.Key) string{nil, func(k key.Key) string { return "key-" + strconv.FormatUint(k.P, 16) }} {
		var out bytes.Buffer
		f := start(t, engine.Config{
			Limits: []engine.Limit{watched(tokens("api", 1, time.Hour, 1))},
			Logger: slog.New(slog.NewTextHandler(&out, nil)), Redact: redact,
		})
		for range 600 {
			require.True(t, f.take("api", "u", 1).OK())
		}
		f.clock.Advance(time.Second)
		lines := strings.Count(out.String(), "shadow limit would have refused")
		require.GreaterOrEqual(t, lines, 1)
		require.LessOrEqual(t, lines, 8)
		require.Contains(t, out.String(), "limit=api class=read reason=limited")
		require.Equal(t, redact != nil, strings.Contains(out.String(), "key=key-"))
	}
}

// The kill switch: a limit that is off neither decides nor counts.
func TestSwitchedOffLimitIsNotThere(t *testing.T) {
	f := start(t, limits(tokens("api", 1, time.Hour, 1), inFlight("jobs", 1)))
	require.NoError(t, f.SetMode("api", engine.Off))
	require.NoError(t, f.SetMode("jobs", engine.Off))
	for range 5 {
		tk := f.request(engine.Read, "u", "api", "jobs")
		require.Equal(t, engine.Decision{Remaining: -1}, tk.Decision())
	}
	require.NoError(t, f.SetMode("api", engine.Enforce))
	require.Equal(t, 1, f.admitted("api", "u", 5), "nothing was charged while it was off")
	require.Zero(t, f.inUse("jobs"))
}

// The weakest of a limit's own mode, its layer's and that of all is in force.
func TestWeakestModeIsInForce(t *testing.T) {
	f := start(t, engine.Config{
		Limits: []engine.Limit{tokens("api", 1, time.Hour, 1), inFlight("jobs", 1)},
		Gate:   engine.Gate{Capacity: 1},
	})
	require.True(t, f.take("api", "u", 1).OK())
	hold := f.open("jobs", "u")
	refuses := func() (r [3]bool) {
		a, b := f.request(engine.Read, "u", "api"), f.request(engine.Read, "u", "jobs")
		c := f.request(engine.Read, "v", "jobs")
		r = [3]bool{!a.OK(), !b.OK(), !c.OK()}
		for _, tk := range []*engine.Ticket{&a, &b, &c} {
			tk.Done(engine.Success)
		}
		return r
	}
	require.Equal(t, [3]bool{true, true, true}, refuses())
	require.NoError(t, f.SetMode("rate", engine.Shadow))
	require.NoError(t, f.SetMode("fleet", engine.Off))
	require.Equal(t, [3]bool{false, true, false}, refuses())
	require.NoError(t, f.SetMode("concurrency", engine.Off))
	require.Equal(t, [3]bool{false, false, false}, refuses())
	require.NoError(t, f.SetMode("rate", engine.Enforce))
	require.NoError(t, f.SetMode("concurrency", engine.Enforce))
	require.NoError(t, f.SetMode("fleet", engine.Enforce))
	require.Equal(t, [3]bool{true, true, true}, refuses())
	require.NoError(t, f.SetMode("all", engine.Off))
	require.Equal(t, [3]bool{}, refuses())
	require.NoError(t, f.SetMode("all", engine.Shadow))
	require.Equal(t, [3]bool{}, refuses())
	would := f.Snapshot()
	require.Positive(t, would.Gate.WouldRefuse[engine.Read])
	require.Positive(t, would.Limits[1].WouldRefuse[engine.Read][engine.Full])
	require.NoError(t, f.SetMode("all", engine.Enforce))
	require.Equal(t, [3]bool{true, true, true}, refuses())
	hold.Done(engine.Success)
	require.Zero(t, f.Snapshot().Gate.Other, "whoever was let in by a mode has left as well")

	require.ErrorContains(t, f.SetMode("nobody", engine.Off), `engine: set mode: target "nobody": `)
}

// Switching the ladder off ends an incident at once; on again, it starts anew.
func TestLadderKillSwitch(t *testing.T) {
	var l load
	f := start(t, engine.Config{Ladder: engine.Ladder{Signal: l.read}})
	l.set(3)
	f.clock.Advance(time.Minute)
	sheds := func() bool {
		tk := f.Admit(engine.Request{Class: engine.Test})
		return !tk.OK()
	}
	require.True(t, sheds())
	require.NoError(t, f.SetMode("worker", engine.Shadow))
	require.False(t, sheds())
	require.EqualValues(t, 1, f.Snapshot().Ladder.WouldRefuse[engine.Test])
	require.NoError(t, f.SetMode("worker", engine.Off))
	require.False(t, sheds())
	f.clock.Advance(time.Second)
	require.NoError(t, f.SetMode("worker", engine.Enforce))
	require.False(t, sheds())
	require.Zero(t, f.Snapshot().Ladder.Level)
	f.clock.Advance(time.Minute)
	require.True(t, sheds())
}

// Raising a share only ever adds keys, enforced keys lie within the enabled
// ones, shares are met, and two limits pick different keys.
func TestRampsAreNestedAndMonotone(t *testing.T) {
	f := start(t, limits(engine.Limit{Name: "a", Kind: engine.Block}, engine.Limit{Name: "b", Kind: engine.Block}))
	const n = 1500
	// state of every key: 0 off, 1 watched, 2 enforced
	states := func(limit string, m engine.Mode) (s [n]int) {
		require.NoError(t, f.SetMode(limit, m))
		id, _ := f.Limit(limit)
		for i := range s {
			vs := f.Explain(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(f.Key("user", strconv.Itoa(i)))}})
			for _, v := range vs {
				if v.Name == limit {
					s[i] = 1
					if v.Enforced {
						s[i] = 2
					}
				}
			}
		}
		return s
	}
	count := func(s [n]int, at int) (c float64) {
		for _, v := range s {
			if v >= at {
				c++
			}
		}
		return c / n
	}
	var last [n]int
	for _, r := range [][2]float64{{0, 1}, {0.1, 0}, {0.1, 0.5}, {0.3, 0.5}, {0.3, 0.9}, {0.9, 0.9}, {1, 0.9}, {1, 1}} {
		s := states("a", engine.Ramp(r[0], r[1]))
		for i := range s {
			require.GreaterOrEqual(t, s[i], last[i], "%v", r)
		}
		require.InDelta(t, r[0], count(s, 1), 0.05)
		require.InDelta(t, r[0]*r[1], count(s, 2), 0.05)
		last = s
	}
	a, b := states("a", engine.Ramp(0.5, 1)), states("b", engine.Ramp(0.5, 1))
	both := 0.0
	for i := range a {
		if a[i] == 2 && b[i] == 2 {
			both++
		}
	}
	require.InDelta(t, 0.25, both/n, 0.05)
	require.Equal(t, a, states("a", engine.Ramp(0.5, 1)), "the same keys every time")
}

func TestModesAreOneWord(t *testing.T) {
	require.Equal(t, engine.Enforce, engine.Ramp(1, 1))
	require.Equal(t, engine.Shadow, engine.Ramp(1, 0))
	require.Equal(t, "off", engine.Ramp(0, 1).String())
	require.Equal(t, "off", engine.Ramp(math.NaN(), 1).String())
	require.Equal(t, engine.Enforce, engine.Ramp(7, math.Inf(1)))
	require.Equal(t, "off", engine.Ramp(-3, 0.5).String())
	for m, s := range map[engine.Mode]string{
		engine.Enforce: "enforce", engine.Shadow: "shadow", engine.Off: "off", engine.Ramp(0.25, 0.5): "ramp(25%, 50%)",
	} {
		require.Equal(t, s, fmt.Sprint(m))
	}
	require.InDelta(t, 0.25, engine.Ramp(0.25, 0.5).Enabled(), 1e-4)
	require.InDelta(t, 0.5, engine.Ramp(0.25, 0.5).Enforced(), 1e-4)
	require.Zero(t, engine.Mode(math.MaxUint64).Enabled(), "any word is a mode")
}

// Outcomes are disjoint and exact: admitted and refused add up to the requests,
// what watching limits would have done is counted apart.
func TestOutcomesAddUp(t *testing.T) {
	f := start(t, engine.Config{
		Limits: []engine.Limit{tokens("api", 50, time.Second, 20), inFlight("jobs", 3), watched(tokens("new", 1, time.Second, 1))},
		Gate:   engine.Gate{Capacity: 5, Reserve: 0.2},
	})
	var open []*engine.Ticket
	const n = 5000
	for i := range n {
		tk := f.request(engine.Class(1+i%4), strconv.Itoa(i%7), "api", "jobs", "new")
		open = append(open, &tk)
		if len(open) > 6 {
			open[0].Done(engine.Success)
			open = open[1:]
		}
		if i%10 == 0 {
			f.clock.Advance(time.Millisecond)
		}
	}
	s := f.Snapshot()
	sum := uint64(0)
	for c := engine.Test; c <= engine.Critical; c++ {
		sum += s.Admitted[c] + s.Gate.Refused[c] + s.Ladder.Refused[c]
		for _, l := range s.Limits {
			for _, v := range l.Refused[c] {
				sum += v
			}
		}
	}
	require.EqualValues(t, n, sum)
	require.Positive(t, s.Gate.Refused[engine.Read])
	require.Positive(t, s.Limits[0].Refused[engine.Read][engine.Limited])
	require.Positive(t, s.Limits[2].WouldRefuse[engine.Read][engine.Limited])
}

// Keys that are known take a shorter way; it follows the modes as well.
func TestModesHoldForKnownKeys(t *testing.T) {
	f := start(t, engine.Config{
		Limits: []engine.Limit{tokens("api", 1, time.Hour, 9), tokens("other", 1, time.Hour, 5)},
		Gate:   engine.Gate{Capacity: 10},
	})
	open := func() engine.Ticket { return f.request(engine.Read, "u", "api", "other") }
	known := open()
	require.Equal(t, engine.Decision{Limit: 2, Remaining: 4}, known.Decision())
	known.Done(engine.Success)

	require.NoError(t, f.SetMode("other", engine.Shadow))
	tk := open()
	require.Equal(t, engine.Decision{Limit: 1, Remaining: 7}, tk.Decision(), "what a watching limit has left is not told")
	tk.Done(engine.Success)
	require.NoError(t, f.SetMode("api", engine.Off))
	tk = open()
	require.Equal(t, engine.Decision{Remaining: -1}, tk.Decision())
	tk.Done(engine.Success)
	require.NoError(t, f.SetMode("all", engine.Off))
	tk = open()
	require.Zero(t, f.Snapshot().Gate.Other)
	tk.Done(engine.Success)

	require.NoError(t, f.SetMode("all", engine.Enforce))
	require.NoError(t, f.SetMode("api", engine.Enforce))
	require.NoError(t, f.SetMode("other", engine.Enforce))
	require.EqualValues(t, 7, f.left("api", "u"), "nothing was charged while it was off")
	require.EqualValues(t, 2, f.left("other", "u"), "a watching limit was charged twice")
	require.NoError(t, f.SetMode("fleet", engine.Off))
	tk = open()
	require.True(t, tk.OK())
	require.Zero(t, f.Snapshot().Gate.Other)
	require.NoError(t, f.SetMode("fleet", engine.Enforce))
	tk.Done(engine.Success)
	require.Zero(t, f.Snapshot().Gate.Other)
}
