package engine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/gate"
)

// everyHolding is limits of each kind that a ticket may hold something of, in all the
// ways that it may, and others beside them: none is ever reached.
func everyHolding() []engine.Limit {
	paidQuota := func(name string) engine.Limit {
		l := quota(name, 1<<30, engine.Day, "", 0)
		l.PostPaid = true
		return l
	}
	return []engine.Limit{
		inFlight("jobs", 1<<20), inFlight("places", 1<<20), watched(inFlight("watched", 1<<20)),
		postPaid("tokens", 1, time.Hour, 1<<18), postPaid("words", 1, time.Hour, 1<<18), watched(postPaid("estimated", 1, time.Hour, 1<<18)),
		paidQuota("day"), paidQuota("month"), paidQuota("year"), postPaid("lines", 1, time.Hour, 1<<18), postPaid("pages", 1, time.Hour, 1<<18),
		shared(inFlight("seats", 1<<20)), shared(inFlight("rooms", 1<<20)), shared(tokens("common", 1, time.Hour, 1<<18)),
		tokens("api", 1, time.Hour, 1<<18), quota("calls", 1<<30, engine.Day, "", 0),
	}
}

// held is what a ticket should hold, and what of its claims has been settled.
type held struct {
	*engine.Ticket
	claims  []charge
	settled []bool
}

// charge is one claim as the model knows it.
type charge struct {
	limit, key string
	cost       int64
}

// Whatever mixture of claims a ticket has, of any kind, settled or not, in a gate of
// any sort, it gives back what it took and nothing else, also when it is done twice,
// by two at once.
func TestWhateverATicketHoldsComesBack(t *testing.T) {
	gates := []engine.Gate{{}, {Capacity: 1000, Reserve: 0.2}, {Capacity: 1000, HardCap: 1000}, {Adaptive: &gate.AdaptiveConfig{Initial: 900, Min: 800}}}
	all, named := everyHolding(), map[string]engine.Limit{}
	for _, l := range all {
		named[l.Name] = l
	}
	sizes := map[int]int{}
	for seed := range uint64(24) {
		f, fleet := startShared(t, engine.Config{Limits: everyHolding(), Gate: gates[seed%4]})
		rnd := rand.New(rand.NewPCG(seed, 5))
		gone := map[[2]string]int64{} // of each limit and key: used for good, and held
		inside := 0
		var open []held
		twice, settles := uint64(0), uint64(0)
		check := func() {
			t.Helper()
			for _, l := range all {
				size := max(l.Burst, l.Max)
				if l.Kind == engine.Quota {
					size = l.Rate
				}
				sum := int64(0)
				for _, k := range []string{"u", "v"} {
					n := gone[[2]string{l.Name, k}]
					sum += n
					if l.Sync.Mode != engine.SyncOff {
						n = size - fleet.bound[l.Name].used[f.Key(k)]
					} else {
						n = f.left(l.Name, k)
					}
					require.Equal(t, size-gone[[2]string{l.Name, k}], n, "%s of %s", k, l.Name)
				}
				if l.Kind == engine.InFlight && l.Sync.Mode == engine.SyncOff {
					require.Equal(t, sum, f.inUse(l.Name), l.Name)
				}
			}
			g := f.Snapshot().Gate
			require.Equal(t, inside, g.Other+g.Critical)
		}
		begin := func() {
			h := held{}
			var claims []engine.Claim
			for _, i := range rnd.Perm(len(all))[:rnd.IntN(engine.MaxClaims+1)] {
				a := charge{all[i].Name, []string{"u", "v"}[rnd.IntN(2)], 1 + rnd.Int64N(3)}
				h.claims = append(h.claims, a)
				claims = append(claims, f.claim(a.limit, a.key, a.cost))
				gone[[2]string{a.limit, a.key}] += a.cost
			}
			sizes[len(claims)]++
			h.settled = make([]bool, len(claims))
			tk := f.Admit(engine.Request{Class: engine.Test + engine.Class(rnd.IntN(4)), Claims: claims})
			require.True(t, tk.OK(), "%v", tk.Decision())
			if gates[seed%4] != (engine.Gate{}) {
				inside++
			}
			h.Ticket = &tk
			open = append(open, h)
		}
		settle := func(h *held) {
			if len(h.claims) == 0 {
				return
			}
			i := rnd.IntN(len(h.claims))
			a := h.claims[i]
			id, _ := f.Limit(a.limit)
			actual := rnd.Int64N(6)
			h.Settle(id, actual)
			if !named[a.limit].PostPaid || h.settled[i] {
				settles++
				return
			}
			h.settled[i] = true
			gone[[2]string{a.limit, a.key}] += actual - a.cost
		}
		end := func(i int) {
			h := open[i]
			open = append(open[:i], open[i+1:]...)
			owes := slices.ContainsFunc(h.claims, func(a charge) bool { l := named[a.limit]; return l.PostPaid || l.Kind == engine.InFlight })
			if owes && rnd.IntN(4) == 0 {
				run(2, func(int, *rand.Rand) { h.Done(engine.Success) })
				twice++
			} else {
				h.Done(engine.Outcome(rnd.IntN(3)))
			}
			if gates[seed%4] != (engine.Gate{}) {
				inside--
			}
			for _, a := range h.claims {
				if named[a.limit].Kind == engine.InFlight {
					gone[[2]string{a.limit, a.key}] -= a.cost
				}
			}
		}
		for n := range 400 {
			switch {
			case len(open) > 12 || rnd.IntN(3) == 0 && len(open) > 0:
				end(rnd.IntN(len(open)))
			case rnd.IntN(2) == 0 && len(open) > 0:
				settle(&open[rnd.IntN(len(open))])
			default:
				begin()
			}
			if f.clock.Advance(time.Millisecond); n%10 == 0 {
				check()
			}
		}
		for len(open) > 0 {
			end(0)
		}
		check()
		s := f.Snapshot()
		require.Equal(t, twice, s.Misuse.DoubleDone)
		require.Equal(t, settles, s.Misuse.Settle)
		require.Zero(t, s.Faults)
		for _, l := range s.Limits {
			require.Zero(t, l.InFlight, l.Name)
		}
	}
	for n := range engine.MaxClaims + 1 {
		require.Greater(t, sizes[n], 100, "%d claims", n)
	}
}

// However much a ticket holds, an adaptive gate learns how long the request took.
func TestAnAdaptiveGateTimesEveryTicket(t *testing.T) {
	sizes := map[int][]int{}
	for n := range engine.MaxClaims + 1 {
		f, _ := startShared(t, engine.Config{Limits: everyHolding(), Gate: engine.Gate{Adaptive: &gate.AdaptiveConfig{Initial: 20, Window: 100 * time.Millisecond}}})
		var claims []engine.Claim
		for _, l := range everyHolding()[3 : 3+n] {
			require.True(t, l.PostPaid) // these take the most of a ticket
			claims = append(claims, f.claim(l.Name, "u", 1))
		}
		for round := range 30 {
			var held []*engine.Ticket
			for range 12 {
				tk := f.Admit(engine.Request{Class: engine.Critical, Claims: claims})
				require.True(t, tk.OK())
				held = append(held, &tk)
			}
			f.clock.Advance([]time.Duration{100 * time.Millisecond, 900 * time.Millisecond}[round/20])
			for _, tk := range held {
				tk.Done(engine.Success)
			}
			sizes[n] = append(sizes[n], f.Snapshot().Gate.Capacity)
		}
		require.Equal(t, sizes[0], sizes[n], "%d claims", n)
		require.Zero(t, f.Snapshot().Faults, "%d claims", n)
	}
	require.Greater(t, sizes[0][19], sizes[0][29], fmt.Sprint("it has learned nothing: ", sizes[0]))
}
