package fleet_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleettest"
	"github.com/weir-go/weir/key"
)

// crowd is instances that hold places of strict limits of ten.
type crowd struct {
	*world
	l    engine.Limit
	held map[key.Key][][]engine.Handle // by instance
}

func newCrowd(t testing.TB, n int, cfg fleet.Config) *crowd {
	l := inFlight(10)
	l.Sync.Mode = engine.SyncStrict
	c := &crowd{world: newWorld(t, n, cfg, l), l: l, held: map[key.Key][][]engine.Handle{}}
	c.seconds(0.5)
	return c
}

func (c *crowd) of(k key.Key) [][]engine.Handle {
	if c.held[k] == nil {
		c.held[k] = make([][]engine.Handle, len(c.boxes))
	}
	return c.held[k]
}

func (c *crowd) running(k key.Key) (n int) {
	for _, h := range c.of(k) {
		n += len(h)
	}
	return n
}

// take asks for up to n places.
func (c *crowd) take(i int, k key.Key, n int) {
	held := c.of(k)
	for range n {
		step, h := c.boxes[i].ask(c.l.Name, k, 1)
		if step.Reason != engine.Admitted {
			return
		}
		held[i] = append(held[i], h)
	}
}

// give gives up to n places back.
func (c *crowd) give(i int, k key.Key, n int) {
	held := c.of(k)
	for range min(n, len(held[i])) {
		c.boxes[i].shared[c.l.Name].Done(held[i][0].ID, held[i][0].Cost)
		held[i] = held[i][1:]
	}
}

// fill takes what there is, for so many seconds.
func (c *crowd) fill(i int, k key.Key, seconds float64) {
	for until := c.now + int64(seconds*1e9); c.now < until; c.seconds(0.1) {
		c.take(i, k, 10)
	}
}

// Whatever happens to the store, to all instances alike or to some of them for
// less than the grace, no more places of a strict limit are in use than there
// are: also of keys that an instance did not use meanwhile.
func TestStrictPlacesAreNeverPassed(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	for _, n := range []int{2, 5} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			c := newCrowd(t, n, fleet.Config{})
			keys := []key.Key{user, keyOf(1), keyOf(2), keyOf(3), keyOf(4)}
			most := 0
			for round := range rounds {
				var copied fleettest.Store
				var undo func()
				lasts := 1 + c.r.IntN(20)
				if c.r.IntN(4) == 0 {
					lasts += 100
				}
				for tick := range lasts + 60 {
					switch kind := round % 6; {
					case tick == 5 && kind == 0: // it hangs, or can not be reached
						c.down, undo = true, func() { c.down = false }
					case tick == 5 && kind == 1: // it is killed
						c.down, undo = true, func() { c.down = false; c.store.Flush() }
					case tick == 5 && kind == 2:
						c.store.Flush()
					case tick == 5 && kind == 3:
						copied = c.store.Clone()
					case tick == 5+lasts && kind == 3 && lasts < 100: // a replica takes over that lags behind
						c.store = copied
					case tick == 5 && kind == 4 && lasts < 70: // some are cut off
						gone := c.r.IntN(n)
						c.cut, undo = func(i int) bool { return i <= gone }, func() { c.cut = nil }
					case tick == 5 && kind == 5 && lasts < 70: // replies of some are lost
						gone := c.r.IntN(n)
						c.lose, undo = func(i int) bool { return i == gone }, func() { c.lose = nil }
					}
					if tick == 5+lasts && undo != nil {
						undo()
					}
					i, k := c.r.IntN(n), keys[c.r.IntN(len(keys))]
					if tick%50 < 25 { // some keys are not used by all
						i = int(k.H % uint64(n))
					}
					if c.r.IntN(3) > 0 {
						c.take(i, k, c.r.IntN(6))
					} else {
						c.give(c.r.IntN(n), k, c.r.IntN(8))
					}
					for _, k := range keys {
						most = max(most, c.running(k))
						require.LessOrEqual(t, c.running(k), 10, "round %d (%d), tick %d of %d", round, round%6, tick, lasts)
					}
					c.seconds(0.02 + 0.16*c.r.Float64())
				}
			}
			require.Equal(t, 10, most)
		})
	}
}

// An instance that is cut off alone, for longer than its places are kept, goes
// on with what it had leased, while the others may have all there is: so much
// more are in use then, and no more. Afterwards it has nothing until there is
// something.
func TestStrictPlacesOfOneThatIsCutOffForLong(t *testing.T) {
	for _, stale := range []engine.Stale{engine.StaleShare, engine.StaleClosed} {
		t.Run(stale.String(), func(t *testing.T) {
			c := newCrowd(t, 2, fleet.Config{})
			for c.running(user) < 6 {
				c.take(0, user, 6-c.running(user))
				c.seconds(0.05)
			}
			c.cut = func(i int) bool { return i == 0 }
			for range 98 {
				c.take(0, user, 10)
				c.take(1, user, 10)
				require.LessOrEqual(t, c.running(user), 10, "it is not forgotten yet")
				c.seconds(0.1)
			}
			had := len(c.of(user)[0])
			c.fill(1, user, 3)
			require.Len(t, c.of(user)[1], 10, "it is")
			c.fill(0, user, 3)
			require.Len(t, c.of(user)[0], had)
			c.cut = nil
			c.fill(0, user, 5)
			require.Len(t, c.of(user)[0], had)
			c.give(0, user, 10)
			c.fill(0, user, 6)
			require.Equal(t, 10, c.running(user), "it counts again")
		})
	}
}

// An instance that is killed keeps the places of a strict limit for the grace,
// one that ends in good order not at all.
func TestStrictPlacesOfOneThatIsGone(t *testing.T) {
	for _, killed := range []bool{true, false} {
		t.Run(fmt.Sprint("killed ", killed), func(t *testing.T) {
			c := newCrowd(t, 2, fleet.Config{})
			c.fill(0, user, 1)
			require.Len(t, c.of(user)[0], 10)
			if !killed {
				c.give(0, user, 10)
				c.run(c.now + 2*ms) // what is on its way comes back
				for _, call := range c.boxes[0].f.Farewell() {
					c.boxes[0].send(call)
				}
				c.run(c.now + 2*ms)
			}
			c.boxes[0].alive = false
			c.held[user][0] = nil
			if killed {
				c.fill(1, user, 9.5)
				require.Zero(t, c.running(user))
				c.seconds(1)
			}
			c.fill(1, user, 0.5)
			require.Equal(t, 10, c.running(user))
		})
	}
}

// Who is refused a place of a strict limit and comes again when told to gets one,
// on every instance; and of more instances than places some always have one.
func TestStrictPlacesForSparseRequests(t *testing.T) {
	c := newCrowd(t, 3, fleet.Config{})
	for n := range 20 {
		for i := range c.boxes {
			c.take(i, user, 1)
			require.Equal(t, n > 0, len(c.of(user)[i]) == 1, "instance %d, %d s", i, n)
			c.give(i, user, 1)
		}
		c.seconds(1)
	}
	c = newCrowd(t, 25, fleet.Config{})
	served := 0
	for range 300 {
		for i := range c.boxes {
			c.take(i, user, 1)
		}
		require.LessOrEqual(t, c.running(user), 10)
		served += c.running(user)
		c.seconds(0.1)
		for i := range c.boxes {
			c.give(i, user, 1)
		}
	}
	require.Greater(t, served, 300*8)
}

// An instance that did not use a shard through an outage knows by its reports that
// there was one, and takes nothing until the others have told what they hold.
func TestStrictPlacesOfAShardNotUsedMeanwhile(t *testing.T) {
	c := newCrowd(t, 2, fleet.Config{})
	c.fill(0, user, 1)
	require.Len(t, c.of(user)[0], 10)
	c.down = true
	c.seconds(15)
	c.down = false
	c.cut = func(i int) bool { return i == 0 } // it has not tried again yet
	for range 100 {
		c.take(1, user, 10)
		require.Equal(t, 10, c.running(user))
		c.seconds(0.01)
	}
	c.cut = nil
	c.fill(1, user, 4)
	require.Equal(t, 10, c.running(user))
}
