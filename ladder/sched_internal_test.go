package ladder

import (
	"math"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuantileOfWhatWasCountedSince(t *testing.T) {
	h := &metrics.Float64Histogram{
		Counts:  []uint64{1000, 90, 8, 2},
		Buckets: []float64{math.Inf(-1), 1e-4, 1e-3, 1e-2, math.Inf(1)},
	}
	for _, c := range []struct {
		prev   []uint64
		q      float64
		value  float64
		events uint64
	}{
		{[]uint64{1000, 90, 8, 2}, 0.99, 0, 0},      // nothing waited
		{[]uint64{900, 90, 8, 2}, 0.99, 1e-4, 100},  // all of them short
		{[]uint64{1000, 0, 8, 2}, 0.99, 1e-3, 90},   //
		{[]uint64{1000, 0, 0, 2}, 0.90, 1e-3, 98},   // the 89th of 90
		{[]uint64{1000, 0, 0, 2}, 0.99, 1e-2, 98},   // the 98th
		{[]uint64{1000, 90, 8, 0}, 0.99, 1e-2, 2},   // beyond the last edge: that edge
		{[]uint64{1000, 90, 7, 2}, 0.01, 1e-2, 1},   // one event is every quantile
		{[]uint64{0, 0, 0, 0}, 0.5, 1e-4, 1100},     //
		{[]uint64{0, 0, 0, 0}, 0.909, 1e-4, 1100},   // rank 1000
		{[]uint64{0, 0, 0, 0}, 0.9095, 1e-3, 1100},  // rank 1001
		{[]uint64{0, 0, 0, 0}, 1, 1e-2, 1100},       //
		{[]uint64{999, 90, 8, 2}, 0.0001, 1e-4, 1},  //
		{[]uint64{1000, 89, 8, 2}, 0.5, 1e-3, 1},    //
		{[]uint64{1000, 0, 8, 2}, 0.0001, 1e-3, 90}, //
	} {
		value, events := quantile(h, c.prev, c.q)
		require.Equal(t, c.value, value, "%+v", c)
		require.Equal(t, c.events, events, "%+v", c)
	}
}

func TestRampIsTheScaleOfAUtilisation(t *testing.T) {
	for in, want := range map[float64]float64{0: 0, 0.5e-3: 0.4, 1e-3: 0.8, 5.5e-3: 0.9, 10e-3: 1, 55e-3: 2} {
		require.InDelta(t, want, ramp(in, 1e-3, 10e-3), 1e-9, "%v", in)
	}
}
