package fleet_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/key"
)

// The store is away while places are taken and given back, again and again, for
// a moment or for longer than it remembers them, and now and then it comes back
// empty. Nothing that runs is disturbed, and afterwards the fleet counts what
// really runs: no place is lost, and none is there twice. A strict limit is never
// passed.
func TestPlacesAgreeAfterEveryOutage(t *testing.T) {
	for _, mode := range []engine.SyncMode{engine.SyncStrict, engine.SyncShare} {
		t.Run(mode.String(), func(t *testing.T) {
			l := inFlight(10)
			l.Sync.Mode = mode
			w := newWorld(t, 2, fleet.Config{}, l)
			w.seconds(0.5)
			var held [2][]engine.Handle
			exact := mode == engine.SyncStrict
			take := func(i, n int) {
				for range n {
					step, h := w.boxes[i].ask(l.Name, user, 1)
					if step.Reason != engine.Admitted {
						break
					}
					held[i] = append(held[i], h)
				}
				if exact {
					require.LessOrEqual(t, len(held[0])+len(held[1]), 10)
				}
			}
			give := func(i, n int) {
				for range min(n, len(held[i])) {
					h := held[i][0]
					held[i] = held[i][1:]
					w.boxes[i].shared[l.Name].Done(h.ID, h.Cost)
				}
			}
			fill := func(i int) {
				for range 60 {
					take(i, 10)
					w.seconds(0.1)
				}
			}
			for round := range 100 {
				lasts := []float64{0.1, 0.4, 1.5, 12}[round%4]
				for range 5 {
					take(0, 1+w.r.IntN(3))
					take(1, w.r.IntN(3))
					w.seconds(0.1)
				}
				w.down = true
				for range 3 {
					give(0, w.r.IntN(3))
					take(0, w.r.IntN(3))
					give(1, w.r.IntN(2))
					w.seconds(lasts / 3)
				}
				if round%3 == 0 {
					w.store.Flush()
				}
				before := [2]int{len(held[0]), len(held[1])}
				w.down = false
				i := round % 2
				fill(i)
				require.Len(t, held[1-i], before[1-i])
				if exact {
					require.Equal(t, 10, len(held[0])+len(held[1]), "round %d, away for %v s", round, lasts)
				}
				give(0, 20)
				give(1, 20)
				w.seconds(1)
				fill(1 - i)
				require.Len(t, held[1-i], 10, "round %d: all of it is there, for one", round)
				give(1-i, 10)
				w.seconds(1)
			}
		})
	}
}

// A handle that was given back is spent, also when its entry has been given to
// another key: it gives nothing of that key's back.
func TestASpentHandleGivesNothingOfAnotherKeysBack(t *testing.T) {
	l := inFlight(2)
	w := newWorld(t, 1, fleet.Config{MaxKeys: 64}, l)
	w.seconds(0.5)
	b := w.boxes[0]
	k := func(n uint64) key.Key { return key.Key{H: n * 0x9e3779b97f4a7c15, P: n * 0xbf58476d1ce4e5b9} }
	step, spent := b.ask(l.Name, k(1), 1)
	require.Equal(t, engine.Admitted, step.Reason)
	b.shared[l.Name].Done(spent.ID, spent.Cost)
	reused := 0
	for n := uint64(2); n < 3000; n++ {
		if n%50 == 0 {
			w.seconds(1) // what is idle is forgotten
		}
		var held []engine.Handle
		for {
			step, h := b.ask(l.Name, k(n), 1)
			if step.Reason != engine.Admitted {
				break
			}
			held = append(held, h)
		}
		if len(held) > 0 && held[0].ID>>40 == spent.ID>>40 {
			reused++
			b.shared[l.Name].Done(spent.ID, spent.Cost)
			step, _ := b.ask(l.Name, k(n), 1)
			require.NotEqual(t, engine.Admitted, step.Reason, "key %d lost a place", n)
		}
		for _, h := range held {
			b.shared[l.Name].Done(h.ID, h.Cost)
		}
	}
	require.Positive(t, reused, "no other key had the entry")
}
