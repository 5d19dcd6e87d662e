package engine_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// run runs n goroutines to their end, with their number and a generator each.
func run(n int, body func(i int, rnd *rand.Rand)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { body(i, rand.New(rand.NewPCG(uint64(i), 7))) })
	}
	wg.Wait()
}

// In every interval of real time, however short and whenever it begins, a key
// is granted at most burst + rate*L + min(burst, rate*D), where D is the age of
// the time a decision was made on: at most how long the call took, when every
// call reads the clock.
func TestNoIntervalGrantsMoreThanItsBound(t *testing.T) {
	const rate, burst = 20_000, 50 // per second
	for _, precise := range []bool{true, false} {
		e := engine.Must(engine.New(engine.Config{
			Limits:       []engine.Limit{tokens("api", rate, time.Second, burst)},
			Ladder:       engine.Ladder{Mode: engine.Off},
			PreciseClock: precise,
		}))
		id, _ := e.Limit("api")
		type grant struct{ call, back time.Duration }
		start := time.Now()
		var mu sync.Mutex
		var grants []grant
		longest := time.Duration(0)
		// On a machine that has no time for this, it takes longer.
		const enough = burst + rate/10
		var granted atomic.Int64
		more := func() bool {
			took := time.Since(start)
			return took < 250*time.Millisecond || granted.Load() <= enough && took < 20*time.Second
		}
		run(4, func(_ int, rnd *rand.Rand) {
			var mine []grant
			slowest := time.Duration(0)
			for more() {
				call := time.Since(start)
				tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(e.Key("u"))}})
				back := time.Since(start)
				slowest = max(slowest, back-call)
				if tk.OK() {
					granted.Add(1)
					mine = append(mine, grant{call, back})
				}
				tk.Done(engine.Success)
				if rnd.IntN(50) == 0 {
					runtime.Gosched()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			grants, longest = append(grants, mine...), max(longest, slowest)
		})
		require.NoError(t, e.Close())
		require.Greater(t, len(grants), enough, "the run was too slow to test anything")

		stale := float64(burst) // the lazy clock may be as old as the ticker is late
		if precise {
			stale = min(burst, rate*longest.Seconds())
		}
		// The tightest intervals begin where a call begins and end where one
		// returns: count the grants that lie wholly inside.
		slices.SortFunc(grants, func(a, b grant) int { return int(a.back - b.back) })
		for i := 0; i < len(grants); i += 1 + len(grants)/60 {
			from := grants[i].call
			n := 0
			for _, g := range grants {
				if g.call < from {
					continue
				}
				n++
				most := burst + rate*(g.back-from).Seconds() + stale + 1
				require.LessOrEqual(t, float64(n), most, "precise %v: from %v to %v", precise, from, g.back)
			}
		}
	}
}

// Random requests of several goroutines over all layers: non-critical requests
// never pass their allocation, no key passes its count in flight, every request
// is counted once, and at the end everything has come back.
func TestNothingIsLostAndNothingPassesItsCap(t *testing.T) {
	const alloc, most = 8, 3
	f := start(t, engine.Config{
		Limits: []engine.Limit{tokens("api", 1, time.Hour, 5000), inFlight("jobs", most), {
			Name: "costs", Rate: 1, Per: time.Hour, Burst: 5000, PostPaid: true,
		}},
		Gate: engine.Gate{Capacity: 10, Reserve: 0.2, HardCap: 12},
	})
	var others, all atomic.Int64
	var inside, granted [4]atomic.Int64
	var total, refused, spent atomic.Uint64
	run(8, func(_ int, rnd *rand.Rand) {
		for range 400 {
			k := rnd.IntN(4)
			name := fmt.Sprint("user", k)
			class := engine.Test + engine.Class(rnd.IntN(4))
			claims := []engine.Claim{f.claim("jobs", name, 1), f.claim("api", name, 1)}
			est, actual := 1+rnd.Int64N(3), rnd.Int64N(4)
			if rnd.IntN(2) == 0 {
				claims = append(claims, f.claim("costs", name, est))
			}
			tk := f.Admit(engine.Request{Class: class, Claims: claims})
			total.Add(1)
			if !tk.OK() {
				refused.Add(1)
				continue
			}
			granted[k].Add(1)
			if n := inside[k].Add(1); n > most {
				t.Errorf("%d of one key in flight", n)
			}
			if n := all.Add(1); n > 12 {
				t.Errorf("%d inside", n)
			}
			if class != engine.Critical {
				if n := others.Add(1); n > alloc {
					t.Errorf("%d ordinary requests inside", n)
				}
			}
			runtime.Gosched()
			if len(claims) == 3 {
				tk.Settle(claims[2].Limit, actual)
				spent.Add(uint64(actual))
			}
			if class != engine.Critical {
				others.Add(-1)
			}
			all.Add(-1)
			inside[k].Add(-1)
			tk.Done(engine.Outcome(rnd.IntN(3)))
		}
	})
	s := f.Snapshot()
	require.Zero(t, s.Gate.Critical+s.Gate.Other)
	var admitted, told uint64
	for _, l := range s.Limits {
		if l.Kind == engine.InFlight || l.Name == "costs" {
			require.Zero(t, l.InFlight, l.Name)
		}
		for c := range l.Refused {
			for _, n := range l.Refused[c] {
				told += n
			}
		}
	}
	for c := range s.Admitted {
		admitted += s.Admitted[c]
		told += s.Gate.Refused[c]
	}
	require.Equal(t, refused.Load(), told)
	require.Equal(t, total.Load(), admitted+told)
	// The clock stands: what is left is the burst less what was granted, so no
	// refused request has charged anything.
	left := int64(0)
	for k := range granted {
		d := f.take("api", fmt.Sprint("user", k), 1)
		require.Equal(t, 5000-granted[k].Load()-1, d.Remaining, "user %d", k)
		c := f.take("costs", fmt.Sprint("user", k), 1)
		left += c.Remaining + 1
	}
	require.EqualValues(t, 4*5000-spent.Load(), left)
	require.Zero(t, s.Faults)
}

// A request that one limit refuses charges none of the others, whatever races.
func TestARefusedRequestChargesNothing(t *testing.T) {
	f := start(t, limits(tokens("wide", 1, time.Hour, 2), tokens("narrow", 1, time.Hour, 1)))
	for round := range 2000 {
		k := fmt.Sprint(round)
		var ok atomic.Int64
		run(2, func(int, *rand.Rand) {
			tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("wide", k, 1), f.claim("narrow", k, 1)}})
			if tk.OK() {
				ok.Add(1)
			}
			tk.Done(engine.Success)
		})
		require.EqualValues(t, 1, ok.Load())
		require.Equal(t, engine.Decision{Limit: 1, Remaining: 0}, f.take("wide", k, 1), "round %d: one of two was left", round)
	}
}

// A request that asks for one limit is never refused because of another request
// that a second limit refuses: limits are looked at before any is charged.
func TestAFailingRequestRefusesNobodyElse(t *testing.T) {
	f := start(t, limits(tokens("shared", 1, time.Hour, 1), tokens("spent", 1, time.Hour, 1)))
	for round := range 2000 {
		k := fmt.Sprint(round)
		f.take("spent", k, 1)
		var ok atomic.Int64
		run(2, func(i int, _ *rand.Rand) {
			claims := []engine.Claim{f.claim("shared", k, 1)}
			if i == 0 {
				claims = append(claims, f.claim("spent", k, 1))
			}
			tk := f.Admit(engine.Request{Class: engine.Read, Claims: claims})
			if tk.OK() && i == 1 {
				ok.Add(1)
			}
			tk.Done(engine.Success)
		})
		require.EqualValues(t, 1, ok.Load(), "round %d", round)
	}
}
