package gate_test

import (
	"math"
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
	window := func(now time.Duration, inside int) {
		for range 40 {
			a.Observe(now, time.Millisecond, gate.Success, inside)
			inside = 1
		}
	}
	window(0, 1)
	window(time.Second, 1)
	window(2*time.Second, 60) // its first request closes the window before, and is inside in the next
	require.Equal(t, 110, a.Limit())
	window(3*time.Second, 1)
	require.Greater(t, a.Limit(), 110, "who was inside when a window began is among its requests")
	grew := a.Limit()
	window(4*time.Second, 1)
	require.Equal(t, grew, a.Limit())
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

// At the floor, where there is nobody to queue behind, three windows in a row that
// take too long are the truth about the service; one that does not begins the
// count anew.
func TestAdaptiveRaisesItsBaselineAfterThreeWindowsAtTheFloor(t *testing.T) {
	a := adaptive(t, gate.AdaptiveConfig{Min: 5, Initial: 5, Max: 5, Window: time.Second})
	now := time.Duration(0)
	window := func(latency time.Duration) { // closes the one before
		for i := range 20 {
			if i == 19 {
				now += time.Second
			}
			a.Observe(now, latency, gate.Success, 5)
		}
	}
	const fast, slow = time.Millisecond, 20 * time.Millisecond
	window(fast)
	for _, latency := range []time.Duration{fast, slow, slow, fast, slow, slow} {
		window(latency)
		require.Equal(t, fast, a.Baseline())
	}
	window(slow)
	require.Equal(t, slow, a.Baseline())
	const between = 10 * time.Millisecond
	window(between)
	window(between)
	require.Equal(t, between, a.Baseline(), "far from the old baseline, what is measured counts")
}

// A window in which a twentieth of the requests is dropped is no sign of overload;
// one more is.
func TestAdaptiveForgivesATwentieth(t *testing.T) {
	limit := func(drops int) int {
		a := adaptive(t, gate.AdaptiveConfig{Min: 1, Initial: 100, Max: 200, Window: time.Second})
		for w := range 2 {
			for i := range 40 {
				o := gate.Success
				if i < drops {
					o = gate.Dropped
				}
				now := time.Duration(w) * time.Second
				if i == 39 {
					now += time.Second
				}
				a.Observe(now, time.Millisecond, o, 1)
			}
		}
		return a.Limit()
	}
	require.Equal(t, 100, limit(2))
	require.Equal(t, 90, limit(3))
}

func TestAdaptiveFloorIsAtLeastOne(t *testing.T) {
	_, err := gate.NewAdaptive(gate.AdaptiveConfig{Min: -1, Max: 5, Initial: 5})
	require.EqualError(t, err, "gate: adaptive: min -1: must be at least 1")

	a := adaptive(t, gate.AdaptiveConfig{Window: time.Millisecond})
	for i := range 1000 {
		a.Observe(time.Duration(i)*time.Millisecond, time.Millisecond, gate.Dropped, 1)
	}
	require.Equal(t, 1, a.Limit())
}
