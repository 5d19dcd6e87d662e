package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// bothWays are two engines of one configuration that are asked the same. A request
// of known class and few claims takes a shorter way; what the long one is asked
// never does, for its class is left to the default, or it has more claims, which
// cost nothing.
type bothWays struct {
	t           *testing.T
	rnd         *rand.Rand
	cfg         engine.Config
	short, long *fixture
	a, b        *ledger // their fleets, if limits are shared
	load        load
	open        [][2]*engine.Ticket
	asked       int
	reasons     map[engine.Reason]int
}

func newBothWays(t *testing.T, seed uint64, cfg engine.Config, fleet bool) *bothWays {
	w := &bothWays{t: t, rnd: rand.New(rand.NewPCG(seed, 31)), reasons: map[engine.Reason]int{}}
	cfg.Limits = append(slices.Clone(cfg.Limits), tokens("free", 1, time.Hour, 1), tokens("gratis", 1, time.Hour, 1))
	cfg.Ladder.Signal = w.load.read
	cfg.Secret = fleetSecret
	w.cfg = cfg
	if fleet {
		w.short, w.a = startShared(t, cfg)
		w.long, w.b = startShared(t, cfg)
	} else {
		w.short, w.long = start(t, cfg), start(t, cfg)
	}
	return w
}

// each does the same to both.
func (w *bothWays) each(do func(*fixture, *ledger)) {
	do(w.short, w.a)
	do(w.long, w.b)
}

// swap changes the numbers of the limits.
func (w *bothWays) swap(change func(*engine.Limit)) {
	w.t.Helper()
	w.each(func(f *fixture, l *ledger) {
		cfg := f.config(w.cfg)
		cfg.Limits = slices.Clone(cfg.Limits)
		if l != nil {
			cfg.Sync = l
		}
		for i := range cfg.Limits {
			change(&cfg.Limits[i])
		}
		require.NoError(w.t, f.Swap(cfg))
	})
}

// ask asks both for costs of the named limits for keys, and compares the answers.
func (w *bothWays) ask(class engine.Class, cohort uint64, names, keys []string, costs []int64) {
	w.t.Helper()
	request := func(f *fixture) engine.Request {
		req := engine.Request{Class: class, Cohort: cohort}
		for n := range names {
			if names[n] == "nobody's" { // the first handle that was not given out
				req.Claims = append(req.Claims, engine.LimitID(len(w.cfg.Limits)+1).Claim(f.Key(keys[n])))
				continue
			}
			req.Claims = append(req.Claims, f.claim(names[n], keys[n], costs[n]))
		}
		return req
	}
	short, long := request(w.short), request(w.long)
	if class == engine.Read && w.rnd.IntN(2) == 0 {
		long.Class = engine.ClassUnset
	} else {
		long.Claims = append(long.Claims, w.long.claim("free", "u", 0), w.long.claim("gratis", "u", 0))
	}
	s, l := w.short.Admit(short), w.long.Admit(long)
	require.Equal(w.t, l.Decision(), s.Decision(), "request %d: %v of %v for %v, class %v", w.asked, costs, names, keys, class)
	w.asked++
	w.reasons[s.Decision().Reason]++
	if s.Decision().Reason == engine.Full {
		// Of what is in flight the shorter way asks without the time, and so publishes
		// none.
		w.each(func(f *fixture, _ *ledger) { f.clock.Advance(0) })
	}
	w.open = append(w.open, [2]*engine.Ticket{&s, &l})
}

// done ends the i-th of the open requests.
func (w *bothWays) done(i int) {
	for _, tk := range w.open[i] {
		tk.Done(engine.Success)
	}
	w.open = append(w.open[:i], w.open[i+1:]...)
}

// step does something that requests take turns with: mostly nothing.
func (w *bothWays) step() {
	w.t.Helper()
	modes := []engine.Mode{engine.Enforce, engine.Enforce, engine.Shadow, engine.Off, engine.Ramp(0.6, 0.6), engine.Ramp(1, 0.5)}
	for len(w.open) > 6 {
		w.done(w.rnd.IntN(len(w.open)))
	}
	switch n := w.rnd.IntN(100); {
	case n < 30 && len(w.open) > 0:
		w.done(w.rnd.IntN(len(w.open)))
	case n < 35:
		d := time.Duration(w.rnd.IntN(300)) * time.Millisecond
		w.each(func(f *fixture, _ *ledger) { f.clock.Advance(d) })
	case n < 40: // without a tick
		d := time.Duration(w.rnd.IntN(300)) * time.Millisecond
		w.each(func(f *fixture, _ *ledger) { f.clock.Drift(d) })
	case n < 42:
		targets := []string{"all", "rate", "concurrency", "fleet", "worker"}
		for i := range w.cfg.Limits {
			targets = append(targets, w.cfg.Limits[i].Name)
		}
		target, m := targets[w.rnd.IntN(len(targets))], modes[w.rnd.IntN(len(modes))]
		w.each(func(f *fixture, _ *ledger) { require.NoError(w.t, f.SetMode(target, m)) })
	case n < 44: // back to what most requests meet
		w.each(func(f *fixture, _ *ledger) {
			for target := range f.Snapshot().Modes {
				require.NoError(w.t, f.SetMode(target, engine.Enforce))
			}
		})
	case n < 45:
		less := w.rnd.Int64N(3)
		w.swap(func(l *engine.Limit) {
			l.Burst, l.Max = max(l.Burst-less, min(l.Burst, 1)), max(l.Max-less, min(l.Max, 1))
		})
	case n < 48: // some of a class, or more
		w.load.set([]float64{0, 0, 1.2, 1.5, 3}[w.rnd.IntN(5)])
		w.each(func(f *fixture, _ *ledger) { f.clock.Advance(500 * time.Millisecond) })
	case n < 49: // long enough for most keys to be forgotten
		w.each(func(f *fixture, _ *ledger) { f.clock.Advance(5 * time.Minute) })
	}
}

// end gives everything back and compares what was counted.
func (w *bothWays) end() {
	w.t.Helper()
	for len(w.open) > 0 {
		w.done(0)
	}
	w.load.set(0)
	w.each(func(f *fixture, _ *ledger) { f.clock.Advance(time.Hour) })
	s, l := w.short.Snapshot(), w.long.Snapshot()
	require.Equal(w.t, l.Admitted, s.Admitted)
	require.Equal(w.t, l.Gate, s.Gate)
	require.Equal(w.t, l.Ladder, s.Ladder)
	require.Equal(w.t, l.Limits, s.Limits)
	require.Equal(w.t, l.Table, s.Table)
	require.Equal(w.t, l.Misuse, s.Misuse)
	require.Zero(w.t, s.Unclassified)
	require.Zero(w.t, s.Faults)
	require.Zero(w.t, s.Gate.Other+s.Gate.Critical)
	for _, lim := range s.Limits {
		require.Zero(w.t, lim.InFlight, lim.Name)
	}
	if w.a == nil {
		return
	}
	a, b := w.a.host.GateUse(), w.b.host.GateUse()
	// The shorter way may hold a place for the moment in which the fleet refuses.
	require.LessOrEqual(w.t, b.Peak, a.Peak)
	require.LessOrEqual(w.t, a.Peak, b.Peak+1)
	a.Peak = b.Peak
	require.Equal(w.t, b, a)
	for name, a := range w.a.bound {
		b := w.b.bound[name]
		require.Equal(w.t, b.used, a.used, name)
		require.Equal(w.t, b.told, a.told, "refusals told of %s", name)
		require.Equal(w.t, b.takes-b.undos, a.takes-a.undos, name)
		for k, n := range a.used {
			if a.refusal.Reason == engine.Full {
				require.Zero(w.t, n, "%v holds %s", k, name)
			}
		}
	}
}

// random asks for one or two of the limits, mostly for one key and little.
func (w *bothWays) random(names []string, keys int) {
	w.t.Helper()
	who := fmt.Sprint(w.rnd.IntN(keys))
	var limits, whose []string
	var costs []int64
	for _, i := range w.rnd.Perm(len(names))[:1+w.rnd.IntN(min(2, len(names)))] {
		limits, whose, costs = append(limits, names[i]), append(whose, who), append(costs, 1)
		if w.rnd.IntN(4) == 0 {
			who = fmt.Sprint(w.rnd.IntN(keys))
		}
		switch w.rnd.IntN(40) {
		case 0:
			costs[len(costs)-1] = w.rnd.Int64N(15)
		case 1, 2, 3:
			costs[len(costs)-1] = 2
		case 4:
			costs[len(costs)-1] = -1
		}
	}
	if w.rnd.IntN(60) == 0 { // twice, which is a mistake
		limits, whose, costs = append(limits[:1], limits[0]), append(whose[:1], whose[0]), append(costs[:1], 1)
	}
	if w.rnd.IntN(60) == 0 {
		limits[w.rnd.IntN(len(limits))] = "nobody's"
	}
	cohort := uint64(0)
	if w.rnd.IntN(3) == 0 {
		cohort = w.rnd.Uint64() | 1
	}
	class := engine.Class(1 + w.rnd.IntN(4))
	if w.rnd.IntN(2) == 0 {
		class = engine.Read
	}
	w.ask(class, cohort, limits, whose, costs)
}

var gates = []engine.Gate{
	{}, {Capacity: 6}, {Capacity: 6, Reserve: 0.4}, {Capacity: 4, Reserve: 0.25, HardCap: 5, RetryAfter: 2 * time.Second}, {Capacity: 6, Mode: engine.Shadow},
}

// Both ways decide, count, charge and give back alike.
func TestBothWaysDecideAlike(t *testing.T) {
	reasons := map[engine.Reason]int{}
	for seed := range uint64(40) {
		cfg := engine.Config{
			Limits: []engine.Limit{
				tokens("api", 2, time.Second, 5), tokens("own", 1, time.Second, 5), inFlight("jobs", 2), tokens("slow", 1, time.Hour, 40),
				inFlight("places", 2), {Name: "day", Kind: engine.Quota, Rate: 30, Window: engine.Minute},
			},
			Gate: gates[seed%uint64(len(gates))], PreciseClock: seed%7 == 0,
		}
		cfg.Limits[4].RetryAfter = 3 * time.Second
		w := newBothWays(t, seed, cfg, false)
		names := []string{"api", "own", "jobs", "slow", "places"}
		if seed%3 == 0 {
			names = append(names, "day")
		}
		for range 700 {
			w.step()
			w.random(names, 2+int(seed%4))
		}
		w.end()
		for r, n := range w.reasons {
			reasons[r] += n
		}
	}
	for r := engine.Admitted; r < engine.Closed; r++ {
		require.Greater(t, reasons[r], 100, "too few are %v to compare", r)
	}
}

// So they do where limits are shared with a fleet, and what stands beside them.
func TestSharedLimitsDecideAlikeOnBothWays(t *testing.T) {
	reasons := map[engine.Reason]int{}
	for seed := range uint64(50) {
		cfg := engine.Config{
			Limits: []engine.Limit{
				tokens("own", 1, time.Second, 9), shared(inFlight("places", 3)), shared(tokens("shared", 1, time.Hour, 25)),
				shared(tokens("other", 1, time.Hour, 25)), inFlight("jobs", 3), shared(inFlight("seats", 3)),
			},
			Gate: gates[seed%uint64(len(gates))],
		}
		w := newBothWays(t, seed, cfg, true)
		for range 500 {
			w.step()
			if cfg.Gate.Capacity > 0 && w.rnd.IntN(50) == 0 {
				g := engine.GateLease{Until: w.a.host.Now() + int64(time.Second), Other: 1 + w.rnd.IntN(6), Fallback: w.rnd.IntN(2), Total: w.rnd.IntN(2) * 6, Critical: 1}
				w.each(func(_ *fixture, l *ledger) { l.host.LeaseGate(g) })
			}
			w.random([]string{"own", "places", "shared", "other", "jobs", "seats"}, 3)
		}
		w.end()
		for r, n := range w.reasons {
			reasons[r] += n
		}
	}
	for r := engine.Admitted; r < engine.Closed; r++ {
		require.Greater(t, reasons[r], 100, "too few are %v to compare", r)
	}
}
