package fleet_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/key"
)

// full reports whether the long forms of the tests are asked for.
func full() bool { return os.Getenv("WEIR_FLEET") == "full" }

// steady drives n instances at three times the limit and returns once they have
// settled.
func steady(t *testing.T, n int, l engine.Limit) (*world, *load) { return steadyOf(t, 42, n, l) }

// steadyOf is steady in a world of that seed.
func steadyOf(t *testing.T, seed uint64, n int, l engine.Limit) (*world, *load) {
	w := worldOf(t, seed, n, fleet.Config{}, l)
	w.seconds(0.5)
	d := w.drive(l, user, 3*float64(l.Rate), balanced(n))
	w.seconds(5)
	return w, d
}

func mean(x []int64) float64 { return float64(sum(x)) / float64(len(x)) }

// behind makes a replica the store that has none of the last writes.
func behind(lag int64) func(*world) {
	return func(w *world) {
		old := w.store.Clone()
		w.after(lag, func() { w.store = old })
	}
}

// Whatever the store forgets or repeats, the fleet goes on admitting its limit.
func TestFleetFaults(t *testing.T) {
	for _, n := range []int{2, 10} {
		for name, c := range map[string]struct {
			fault     func(w *world)
			low, high float64 // of the mean over 10 s
			min, max  float64 // of any second
		}{
			"none":                                  {func(*world) {}, 0.99, 1.01, 0.95, 1.05},
			"the store loses all":                   {func(w *world) { w.store.Flush() }, 0.99, 1.01, 0.9, 1.1},
			"a replica takes over that lacks 0.5 s": {behind(500 * ms), 0.99, 1.03, 0.85, 1.2},
			"a replica takes over that lacks 3 s":   {behind(3000 * ms), 0.99, 1.03, 0.85, 1.2},
			"its clock steps ahead":                 {func(w *world) { w.skew += 5e6 }, 0.99, 1.03, 0.9, 1.3},
			"its clock steps back":                  {func(w *world) { w.skew -= 5e6 }, 0.97, 1.01, 0.85, 1.05},
			"the network is slow":                   {func(w *world) { w.rtt = 200 * ms }, 0.97, 1.03, 0.6, 1.4},
			"the network is very slow":              {func(w *world) { w.rtt = 400 * ms }, 0.97, 1.07, 0.3, 1.7},
			"half crash and come back": {func(w *world) {
				for _, b := range w.boxes[:len(w.boxes)/2] {
					b.alive = false
					w.after(int64(time.Second), func() { b.start(tokenBucket(1000, 200)) })
				}
			}, 0.97, 1.02, 0.6, 1.15},
			"all restart, one after the other": {func(w *world) {
				for i, b := range w.boxes {
					w.after(int64(i+1)*100*ms, func() { b.alive = false; b.start(tokenBucket(1000, 200)) })
				}
			}, 0.97, 1.03, 0.6, 1.25},
			"half of it is cut off": {func(w *world) {
				w.cut = func(i int) bool { return i < len(w.boxes)/2 }
			}, 1, 2, 0.85, 2},
		} {
			t.Run(fmt.Sprint(n, " ", name), func(t *testing.T) {
				w, d := steady(t, n, tokenBucket(1000, 200))
				from := len(d.perSecond)
				c.fault(w)
				w.seconds(10)
				after := d.perSecond[from : from+10]
				t.Logf("%v", after)
				require.GreaterOrEqual(t, mean(after)/1000, c.low)
				require.LessOrEqual(t, mean(after)/1000, c.high)
				for _, x := range after[:9] {
					require.GreaterOrEqual(t, float64(x)/1000, c.min)
					require.LessOrEqual(t, float64(x)/1000, c.max)
				}
			})
		}
	}
}

// A store that is there for 200 ms and away for 200 ms leaves each instance half
// blind, and how much so is chance: the fleet admits its limit, and nine seconds of
// ten are near it.
func TestFleetOverAStoreThatFlaps(t *testing.T) {
	for _, n := range []int{2, 10} {
		var seconds []int64
		for seed := range uint64(10) {
			w, d := steadyOf(t, seed, n, tokenBucket(1000, 200))
			from := len(d.perSecond)
			var flip func()
			flip = func() { w.down = !w.down; w.after(200*ms, flip) }
			flip()
			w.seconds(10)
			seconds = append(seconds, d.perSecond[from:from+10]...)
		}
		slices.Sort(seconds)
		t.Logf("%d instances: mean %.0f, of seconds the least %d, a twentieth below %d and above %d, the most %d",
			n, mean(seconds), seconds[0], seconds[5], seconds[94], seconds[99])
		require.InDelta(t, 1.005, mean(seconds)/1000, 0.025)
		require.GreaterOrEqual(t, seconds[5], int64(600))
		require.LessOrEqual(t, seconds[94], int64(1400))
		require.GreaterOrEqual(t, seconds[0], int64(300))
		require.LessOrEqual(t, seconds[99], int64(1700))
	}
}

// Batches whose replies are lost count once: what the store has charged is
// what was admitted.
func TestFleetCountsOnceWhenRepliesAreLost(t *testing.T) {
	l := tokenBucket(1000, 1_000_000) // so large that nothing refills it to the brim
	w := newWorld(t, 2, fleet.Config{}, l)
	w.seconds(0.5)
	d := w.drive(l, user, 5000, balanced(2))
	for range 20 {
		w.lose = func(int) bool { return true }
		w.seconds(0.4)
		w.lose = nil
		w.seconds(0.4)
	}
	d.stopped = true
	w.seconds(3)
	level := w.level(l)
	// The bucket was full at the first request, and has refilled since.
	charged := level*1000 + float64(w.now-d.start)/1e9*1000
	require.InDelta(t, float64(sum(d.admitted)), charged, 2)
	var resent uint64
	for _, b := range w.boxes {
		resent += b.f.Snapshot().Duplicates
	}
	require.Greater(t, resent, uint64(10), "no reply was lost")
}

// level is what a bucket owes in the store, in seconds.
func (w *world) level(l engine.Limit) float64 { return w.levelOf(l, user) }

func (w *world) levelOf(l engine.Limit, k key.Key) float64 {
	us := float64(w.now)/1e3 + 9e13 + w.skew
	for shard := range 4 {
		b := &fleet.Batch{Shard: shard, Seq: 0, Items: []fleet.Item{{Op: fleet.OpRate, Limit: l.Name, Key: k,
			Arg: [fleet.Args]float64{fleet.RateT: 1e6 / float64(l.Rate), fleet.RateX0: fleet.None, fleet.RateHi: 1e15, fleet.RateTau: 1e15}}}}
		w.store.Push(us, fleet.Boot{99}, b)
		if b.Answers[0][0] != fleet.None {
			return (b.Answers[0][0] - us) / 1e6
		}
	}
	w.t.Fatal("the bucket is not in the store")
	return 0
}

// An instance by itself decides exactly as if it shared nothing.
func TestOneInstanceDecidesAsWithoutAFleet(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 20_000
	}
	if full() {
		n = 1_000_000
	}
	for _, rate := range []int64{1000, 333, 7} {
		l := tokenBucket(rate, 50)
		w := newWorld(t, 1, fleet.Config{}, l)
		w.seconds(0.5)
		r := rule(t, l)
		word := r.Fresh(0, r.At(w.now))
		var different, admitted int
		for i := range n {
			load := []float64{0.5, 0.9, 1, 2, 5}[i/2000%5]
			gap := w.r.ExpFloat64() / (load * float64(rate) / 5.5) * 1e9
			if w.r.IntN(10000) == 0 {
				gap += 3e9
			}
			w.run(w.now + int64(gap))
			cost := 1 + w.r.Int64N(10)
			next, want := r.Take(word, r.At(w.now), cost)
			word = next
			step, _ := w.boxes[0].ask(l.Name, user, cost)
			if got := step.Reason == engine.Admitted; got != want {
				different++
			} else if got {
				admitted++
			}
		}
		require.Zero(t, different, "rate %d, %d admitted", rate, admitted)
	}
}
