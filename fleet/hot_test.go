package fleet_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/key"
)

func keyOf(i int) key.Key {
	r := rand.New(rand.NewPCG(uint64(i), 99))
	return key.Key{H: r.Uint64(), P: r.Uint64()}
}

func one(t testing.TB, cfg fleet.Config, limits ...engine.Limit) (*world, *box) {
	w := newWorld(t, 1, cfg, limits...)
	w.seconds(0.5)
	return w, w.boxes[0]
}

// The state of a key fills a cache line, no more and no less.
func TestEntryIsACacheLine(t *testing.T) {
	require.Equal(t, uintptr(64), unsafe.Sizeof(fleet.Entry{}))
}

func TestDecisionsDoNotAllocate(t *testing.T) {
	l, s, q, h := tokenBucket(1000, 200), strict(1000, 200), daily(1000), inFlight(10)
	l.Name, s.Name = "share", "strict"
	w, b := one(t, fleet.Config{MaxKeys: 10_000}, l, s, q, h)
	for _, limit := range []engine.Limit{l, s, q, h} {
		shared := b.shared[limit.Name]
		i := 0
		require.Zero(t, testing.AllocsPerRun(1000, func() { // keys never seen
			i++
			k := keyHash(i)
			step := shared.Peek(k, w.now, 1)
			step, handle := shared.Take(k, w.now, 1)
			if step.Reason != engine.Admitted {
				shared.Refused(k, step, w.now, 1)
			} else {
				shared.Done(handle.ID, 1)
			}
		}), limit.Name)
		require.Zero(t, testing.AllocsPerRun(1000, func() { // one key, until it is refused and after
			step, handle := shared.Take(user, w.now, 1)
			if step.Reason == engine.Admitted {
				shared.Undo(handle, w.now)
				_, handle = shared.Take(user, w.now, 1)
				shared.Done(handle.ID, 1)
			}
		}), limit.Name)
	}
}

func keyHash(i int) key.Key {
	x := uint64(i) * 0x9e3779b97f4a7c15
	return key.Key{H: x ^ x>>31, P: x}
}

// What a request charged before a later claim of it was refused comes back,
// and is not told to the fleet.
func TestUndoneChargesAreNotTold(t *testing.T) {
	l := tokenBucket(1, 10)
	w, b := one(t, fleet.Config{}, l)
	s := b.shared[l.Name]
	for range 1000 {
		step, h := s.Take(user, w.now, 3)
		require.Equal(t, engine.Admitted, step.Reason)
		s.Undo(h, w.now)
	}
	step, _ := s.Take(user, w.now, 10)
	require.Equal(t, engine.Admitted, step.Reason, "all of it is there")
	step = s.Peek(user, w.now, 1)
	require.Equal(t, engine.Limited, step.Reason)
	require.InDelta(t, time.Second, step.RetryAfter, float64(time.Microsecond))
	w.seconds(1)
	require.InDelta(t, 10-1.5, w.level(l), 1, "ten tokens, charged once")
}

func TestWhatNeedsNoState(t *testing.T) {
	l := tokenBucket(1, 10)
	w, b := one(t, fleet.Config{}, l)
	s := b.shared[l.Name]
	for cost, want := range map[int64]engine.Reason{0: engine.Admitted, -1: engine.NeverFits, 11: engine.NeverFits} {
		step, _ := s.Take(user, w.now, cost)
		require.Equal(t, want, step.Reason)
	}
	require.Zero(t, b.f.Snapshot().Keys)
	s.Refused(user, engine.SharedStep{Reason: engine.NeverFits, RetryAfter: -1}, w.now, 11)
	require.Zero(t, b.f.Snapshot().Keys)
}

// A request whose cost is more than an instance's part still fits a full bucket.
func TestOneRequestAlwaysFitsAFullBucket(t *testing.T) {
	l := tokenBucket(10, 10)
	w := newWorld(t, 10, fleet.Config{}, l)
	w.seconds(0.5)
	step, _ := w.boxes[3].ask(l.Name, user, 10)
	require.Equal(t, engine.Admitted, step.Reason)
}

// Keys that find no room go by the limit's overflow policy, and a flood of them
// buys nothing; keys at rest make room.
func TestOverflow(t *testing.T) {
	for policy, want := range map[engine.Overflow]int{engine.OverflowShared: 1, engine.OverflowOpen: 2000, engine.OverflowClosed: 0} {
		l := tokenBucket(1, 1)
		l.Overflow = policy
		w, b := one(t, fleet.Config{MaxKeys: 1}, l)
		s := b.shared[l.Name]
		table, more := 0, 0
		for i := range 2000 + 32 {
			if step, _ := s.Take(keyOf(i), w.now, 1); step.Reason == engine.Admitted {
				if i < 32 {
					table++
				} else {
					more++
				}
			}
		}
		require.Equal(t, 32, table, "MaxKeys 1 is a table of one window")
		require.Equal(t, want, more)
		w.seconds(3)
		step, _ := s.Take(keyOf(5000), w.now, 1)
		require.Equal(t, engine.Admitted, step.Reason, "what rests is dropped")
	}
}

// However many goroutines meet at a key's first sight, in a table in which keys
// push each other out, no key is charged for another and none gets two buckets.
func TestKeysDoNotShareStateUnderContention(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 40
	}
	l := tokenBucket(1, 5)
	w, b := one(t, fleet.Config{MaxKeys: 64}, l)
	s := b.shared[l.Name]
	now := w.now
	for round := range rounds {
		const keys, workers = 24, 4
		var admitted [keys]atomic.Int64
		var wg sync.WaitGroup
		for g := range workers {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(g)))
				for range 40 * keys {
					i := r.IntN(keys)
					k := keyOf(round*keys + i)
					if s.Peek(k, now, 1).Reason != engine.Admitted {
						continue
					}
					if step, h := s.Take(k, now, 1); step.Reason == engine.Admitted {
						if r.IntN(4) == 0 {
							s.Undo(h, now)
						} else {
							admitted[i].Add(1)
						}
					}
				}
			})
		}
		wg.Wait()
		for i := range admitted {
			require.Equal(t, int64(5), admitted[i].Load(), "round %d key %d", round, i)
		}
		// The exchange takes what there is to tell, and the keys come to rest.
		w.seconds(7)
		now = w.now
	}
}

// The counts that are told are those that were admitted, also when the exchange
// runs beside the decisions.
func TestCountsAreExactBesideTheExchange(t *testing.T) {
	l := tokenBucket(1, 1_000_000)
	w, b := one(t, fleet.Config{}, l)
	s := b.shared[l.Name]
	var wg sync.WaitGroup
	var admitted, running atomic.Int64
	now := w.now
	_, _ = s.Take(user, now, 1)
	const workers, each = 3, 30_000
	running.Store(workers)
	for range workers {
		wg.Go(func() {
			defer running.Add(-1)
			for range each {
				if step, _ := s.Take(user, now, 1); step.Reason == engine.Admitted {
					admitted.Add(1)
				}
			}
		})
	}
	for running.Load() > 0 {
		b.step(true)
		w.run(w.now + 2*ms)
	}
	wg.Wait()
	w.seconds(3)
	require.Equal(t, int64(workers*each), admitted.Load())
	require.InDelta(t, float64(admitted.Load()+1), w.level(l)+float64(w.now-now)/1e9, 2)
	require.Zero(t, b.f.Snapshot().Pending)
}
