package fleet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/key"
)

func tokenBucket(rate, burst int64) engine.Limit {
	return engine.Limit{Name: "api", Rate: rate, Per: time.Second, Burst: burst, Sync: engine.Sync{Mode: engine.SyncShare}}
}

var user = key.Key{H: 0x1234567, P: 0x7654321}

// Ten instances over one limit admit what one would, wherever the demand is.
func TestFleetAdmitsWhatOneBucketWould(t *testing.T) {
	const seconds = 20
	for _, n := range []int{2, 10} {
		for name, share := range map[string]func(int64) []float64{"balanced": balanced(n), "skewed": skewed(n), "shifting": shifting(n, 3*time.Second)} {
			t.Run(fmt.Sprint(n, " ", name), func(t *testing.T) {
				l := tokenBucket(1000, 200)
				w := newWorld(t, n, fleet.Config{}, l)
				w.run(w.now + 500*ms) // they have heard of each other
				d := w.drive(l, user, 3000, share)
				w.run(w.now + seconds*int64(time.Second))
				ratio := float64(sum(d.admitted)) / float64(d.truth.n)
				t.Logf("admitted/one %.4f excess %.0f jain %.3f calls/s %.0f seconds %v", ratio, d.excess(1000, 200), d.jain(), float64(w.store.Commands)/seconds, d.perSecond)
				require.InDelta(t, 1, ratio, 0.015)
				require.Less(t, d.excess(1000, 200), 400.0)
			})
		}
	}
}

func (w *world) seconds(n float64) { w.run(w.now + int64(n*float64(time.Second))) }

// Below the limit nobody is refused, but for what a moving demand costs.
func TestFleetBelowItsLimitRefusesAlmostNobody(t *testing.T) {
	for _, c := range []struct {
		n      int
		load   float64
		share  func(int) func(int64) []float64
		name   string
		atMost float64
	}{
		{2, 0.8, balanced, "balanced", 0.001},
		{10, 0.8, balanced, "balanced", 0.001},
		{10, 0.8, skewed, "skewed", 0.005},
		{10, 0.8, func(n int) func(int64) []float64 { return shifting(n, 3*time.Second) }, "shifting", 0.015},
		{10, 0.5, func(n int) func(int64) []float64 { return shifting(n, 3*time.Second) }, "shifting", 0.002},
	} {
		t.Run(fmt.Sprint(c.n, " ", c.load, " ", c.name), func(t *testing.T) {
			l := tokenBucket(1000, 200)
			var refused, offered int64
			for seed := range uint64(5) { // where the demand goes next is chance
				w := worldOf(t, seed, c.n, fleet.Config{}, l)
				w.seconds(0.5)
				d := w.drive(l, user, 1000*c.load, c.share(c.n))
				w.seconds(30)
				refused += d.falseRefusals
				offered += sum(d.offered)
			}
			t.Logf("false refusals %.4f", float64(refused)/float64(offered))
			require.LessOrEqual(t, float64(refused)/float64(offered), c.atMost)
		})
	}
}

// A small bucket on many instances is coarse from cold, at most a request an
// instance, and keeps to its rate in the long run.
func TestFleetWithFewTokens(t *testing.T) {
	for _, c := range []struct {
		n           int
		rate, burst int64
		load        float64
		excess      float64 // tokens above burst + rate*W in any window
		settled     float64 // of the rate, in the minute after the first
	}{
		{10, 10, 10, 3, 18, 1.05},
		{10, 10, 10, 20, 18, 1.05},
		{100, 10, 10, 0.5, 1, 0.55},
		{100, 10, 10, 3, 52 * 1.5, 1.05},
		{100, 1, 5, 3, 34 * 1.5, 1.05},
		{100, 1, 5, 20, 85 * 1.5, 1.05},
		{10, 1, 1, 3, 10, 1.05},
		{10, 1, 1, 20, 10, 1.05},
		{10, 10, 1, 3, 10, 1.05},
		{10, 1, 50, 3, 10, 1.05},
	} {
		if testing.Short() && c.n > 10 {
			continue
		}
		t.Run(fmt.Sprintf("%d instances, %d per s, burst %d, load %v", c.n, c.rate, c.burst, c.load), func(t *testing.T) {
			l := tokenBucket(c.rate, c.burst)
			w := newWorld(t, c.n, fleet.Config{}, l)
			w.seconds(0.5)
			d := w.drive(l, user, c.load*float64(c.rate), balanced(c.n))
			w.seconds(60)
			first, one := sum(d.admitted), d.truth.n
			w.seconds(60)
			settled, excess := float64(sum(d.admitted)-first)/float64(60*c.rate), d.excess(float64(c.rate), float64(c.burst))
			t.Logf("first minute %.3f of one bucket's, then %.3f of the rate, excess %.1f, jain %.3f", float64(first)/float64(one), settled, excess, d.jain())
			require.LessOrEqual(t, settled, c.settled)
			require.LessOrEqual(t, excess, c.excess)
			require.GreaterOrEqual(t, float64(sum(d.admitted)), 0.95*float64(d.truth.n))
		})
	}
}

// What a flood that nobody expected gets at most.
func TestFleetColdFlood(t *testing.T) {
	for _, c := range []struct {
		n, times int
		sticky   bool
		atMost   float64
	}{{10, 50, false, 416}, {2, 50, false, 241}, {10, 5, true, 110}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			l := tokenBucket(100, 100)
			w := newWorld(t, c.n, fleet.Config{}, l)
			w.seconds(0.5)
			share := balanced(c.n)
			if c.sticky {
				share = func(int64) []float64 { return []float64{1} }
			}
			d := w.drive(l, user, float64(c.times)*100/0.05, share)
			w.seconds(0.05)
			d.stopped = true
			t.Logf("admitted %d", sum(d.admitted))
			require.LessOrEqual(t, float64(sum(d.admitted)), c.atMost)
		})
	}
}

func TestFleetOutage(t *testing.T) {
	for _, stale := range []engine.Stale{engine.StaleDefault, engine.StaleOpen, engine.StaleClosed} {
		for name, shape := range map[string]func(int) func(int64) []float64{"balanced": balanced, "skewed": skewed} {
			t.Run(fmt.Sprint(stale, " ", name), func(t *testing.T) {
				l := tokenBucket(1000, 200)
				l.Sync.OnStale = stale
				w := newWorld(t, 10, fleet.Config{}, l)
				w.seconds(0.5)
				d := w.drive(l, user, 3000, shape(10))
				w.seconds(5)
				w.down = true
				w.seconds(10)
				w.down = false
				w.seconds(10)
				t.Logf("per second %v", d.perSecond)
				during := sum(d.perSecond[5:15])
				switch stale {
				case engine.StaleOpen:
					require.Greater(t, during, int64(20000))
				case engine.StaleClosed:
					require.InDelta(t, 2000, during, 700)
				default:
					require.InDelta(t, 12500, during, 3000)
				}
				require.Less(t, d.perSecond[15], int64(3100))
				for _, n := range d.perSecond[17:24] {
					require.InDelta(t, 1000, n, 60)
				}
			})
		}
	}
}
