package gate_test

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/gate"
)

func adaptive(t *testing.T, cfg gate.AdaptiveConfig) *gate.Adaptive {
	t.Helper()
	a, err := gate.NewAdaptive(cfg)
	require.NoError(t, err)
	return a
}

// Exactly as many get in as the limit says, one place at a time, also when many
// ask at once.
func TestAdaptiveLetsInExactlyItsLimit(t *testing.T) {
	a := adaptive(t, gate.AdaptiveConfig{Min: 1, Initial: 5, Max: 10})
	for n := 1; n <= 5; n++ {
		require.True(t, a.Enter())
		require.Equal(t, n, a.Inside())
	}
	require.False(t, a.Enter())
	a.Leave(0, time.Millisecond, gate.Ignored)
	require.True(t, a.Enter())
	require.False(t, a.Enter())

	b := adaptive(t, gate.AdaptiveConfig{Min: 1, Initial: 3, Max: 3})
	var inside, most atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 2000 {
				if b.Enter() {
					n := inside.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					inside.Add(-1)
					b.Leave(0, time.Millisecond, gate.Ignored)
				}
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, most.Load(), int64(3))
	require.Zero(t, b.Inside())
}

// A floor, a start and a ceiling that are one number are a fixed limit; the
// largest number that can be counted is allowed.
func TestAdaptiveBoundsMayMeet(t *testing.T) {
	a := adaptive(t, gate.AdaptiveConfig{Min: 7, Initial: 7, Max: 7})
	require.Equal(t, 7, a.Limit())
	adaptive(t, gate.AdaptiveConfig{Min: 1, Initial: 1, Max: math.MaxInt32})
}

// The limit grows only when the requests in flight came near it at some moment
// of the window, however few there are when the window ends.
func TestAdaptiveRemembersThePeakOfItsWindow(t *testing.T) {
	grown := func(peak int) int {
		a := adaptive(t, gate.AdaptiveConfig{Min: 1, Initial: 100, Max: 200, Window: time.Second})
		now := time.Duration(0)
		for range 4 {
			a.Observe(now, time.Millisecond, gate.Success, peak)
			for range 40 {
				a.Observe(now, time.Millisecond, gate.Success, 1)
			}
			now += time.Second
		}
		return a.Limit()
	}
	require.Greater(t, grown(80), 100)
	require.Greater(t, grown(50), 100)
	require.Equal(t, 100, grown(49))

	a := adaptive(t, gate.AdaptiveConfig{Min: 1, Initial: 100, Max: 200, Window: time.Second})
	window := func(now time.Duration) {
		for range 40 {
			a.Observe(now, time.Millisecond, gate.Success, 1)
		}
	}
	window(0)
	for range 49 {
		require.True(t, a.Enter())
	}
	window(time.Second)
	window(2 * time.Second)
	require.Equal(t, 100, a.Limit(), "49 inside are not half of 100")
}

// A window counts from its beginning and with enough requests in it: the first
// one, whose beginning nobody saw, teaches nothing, nor do a few requests.
func TestAdaptiveLearnsFromWholeWindowsOnly(t *testing.T) {
	a := adaptive(t, gate.AdaptiveConfig{Min: 1, Initial: 100, Max: 200, Window: time.Second})
	const enough = 10 // requests that close a window
	window := func(n int, now time.Duration) {
		for range n {
			a.Observe(now, time.Millisecond, gate.Success, 90)
		}
	}
	window(enough, 0)
	require.Zero(t, a.Baseline())
	window(3, time.Second)
	require.Zero(t, a.Baseline())
	require.Equal(t, 100, a.Limit())
	window(enough, time.Second)
	require.Equal(t, time.Millisecond, a.Baseline())
	require.Greater(t, a.Limit(), 100)
}

func TestAdaptiveFloorIsAtLeastOne(t *testing.T) {
	_, err := gate.NewAdaptive(gate.AdaptiveConfig{Min: -1, Max: 5, Initial: 5})
	require.EqualError(t, err, "gate: adaptive: min -1: must be at least 1")
}
