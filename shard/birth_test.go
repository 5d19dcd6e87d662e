package shard_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/shard"
)

// However many first requests of a new key there are at the same moment, the
// key has one word: its burst passes once. The same while a sweep and other
// keys' births take and empty the slots around it.
func TestManyFirstRequestsAreOneBirth(t *testing.T) {
	for _, c := range []struct {
		name          string
		sweeping      bool
		entries, size int
		rounds        int
	}{
		{"thousand goroutines", false, 1 << 12, 1000, 150},
		{"while the sweep empties slots", true, 1 << 12, 1000, 150},
		{"many rounds", true, 1 << 10, 16, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoom(t, c.entries)
			l := r.token(1, time.Hour, 1)
			others := r.token(1_000_000_000, time.Second, 1) // idle again after a nanosecond
			hs := keys(1, c.rounds)
			var stop atomic.Bool
			var background sync.WaitGroup
			if c.sweeping {
				background.Go(func() {
					for !stop.Load() {
						r.Sweep(64, r.clock.Now())
						runtime.Gosched()
					}
				})
				background.Go(func() {
					crowd := keys(2, 1<<16)
					for i := 0; !stop.Load(); i++ {
						r.clock.now.Add(1)
						others.take(crowd[i%len(crowd)], 1)
						runtime.Gosched()
					}
				})
			}
			for _, h := range hs {
				var admitted atomic.Int64
				start := make(chan struct{})
				var wg sync.WaitGroup
				for range c.size {
					wg.Go(func() {
						<-start
						if l.take(h, 1) {
							admitted.Add(1)
						}
					})
				}
				close(start)
				wg.Wait()
				require.EqualValues(t, 1, admitted.Load())
			}
			stop.Store(true)
			background.Wait()
			for _, h := range hs {
				require.False(t, l.take(h, 1), "what was spent stays spent")
			}
		})
	}
}

// One key taken by many, at its limit all the time, with releases: never more
// than the maximum at once, and all of it comes back.
func TestFlightHoldsUnderAStorm(t *testing.T) {
	r := newRoom(t, 64)
	l := r.flight(3)
	idle := r.token(1_000_000_000, time.Second, 1)
	var inside, over, admitted atomic.Int64
	var wg sync.WaitGroup
	hs := keys(3, 4)
	crowd := keys(4, 1<<12)
	for g := range 8 {
		wg.Go(func() {
			for i := range 5000 {
				if g == 0 { // slots change hands around the keys
					r.clock.now.Add(1)
					idle.take(crowd[i%len(crowd)], 1)
					r.Sweep(4, r.clock.Now())
					continue
				}
				c, res := l.ask(hs[0], 1, false)
				if res != shard.Taken {
					continue
				}
				if inside.Add(1) > 3 {
					over.Add(1)
				}
				admitted.Add(1)
				inside.Add(-1)
				r.Undo(c)
			}
		})
	}
	wg.Wait()
	require.Zero(t, over.Load())
	require.Positive(t, admitted.Load())
	require.Zero(t, r.InUse()[l.id])
	for range 3 {
		require.True(t, l.take(hs[0], 1))
	}
	require.False(t, l.take(hs[0], 1))
}

// A released handle is spent: it cannot give back what a later life of the same
// slot holds.
func TestReleaseOfAnEarlierLifeChangesNothing(t *testing.T) {
	r := newRoom(t, 1) // one window: the same slots again and again
	l := r.flight(1)
	c, res := l.ask(7, 1, false)
	require.Equal(t, shard.Taken, res)
	old := *c
	r.Undo(c)
	r.sweepAll()
	again, res := l.ask(7, 1, false)
	require.Equal(t, shard.Taken, res)
	require.Equal(t, old.Slot, again.Slot)
	r.Undo(&old)
	require.EqualValues(t, 1, r.InUse()[l.id], "the slot holds the later request still")
	require.False(t, l.take(7, 1))
	r.Undo(again)
	require.Zero(t, r.InUse()[l.id])
}

// A storm of new keys on all cores: no key gets more than its burst, none is
// refused its first, and none is lost.
func TestStormOfNewKeys(t *testing.T) {
	const n = 20_000
	r := newRoom(t, 1<<16)
	l := r.token(1, time.Hour, 2)
	hs := keys(5, n)
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range hs {
				if l.take(hs[(i+g*n/8)%n], 1) {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 2*n, admitted.Load())
	r.sweepAll()
	r.sweepAll()
	require.Equal(t, n, r.Entries())
}
