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

func TestAdaptiveFloorIsAtLeastOne(t *testing.T) {
	_, err := gate.NewAdaptive(gate.AdaptiveConfig{Min: -1, Max: 5, Initial: 5})
	require.EqualError(t, err, "gate: adaptive: min -1: must be at least 1")
}
