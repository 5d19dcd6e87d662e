package record_test

import (
	"bytes"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/cmd/loadgen/internal/record"
)

func TestValuesOutsideTheRangeAreCountedAndShown(t *testing.T) {
	h := record.NewRange(time.Microsecond, time.Minute)
	for _, d := range []time.Duration{0, 500, 59 * time.Second, 61 * time.Second, 10 * time.Minute} {
		h.Record(d)
	}
	require.EqualValues(t, 5, h.Count())
	require.EqualValues(t, 2, h.Saturated())
	require.Equal(t, 10*time.Minute, h.Max())
	require.Equal(t, 10*time.Minute, h.Quantile(1), "p100 is never below the true maximum")
	require.GreaterOrEqual(t, h.Quantile(0.99), time.Minute)
	h.Reset()
	require.Zero(t, h.Count()+h.Saturated()+int64(h.Max()+h.Mean()+h.Quantile(0.5)))
}

func TestMergeSumsCountsAndDoesNotAveragePercentiles(t *testing.T) {
	a, b := record.New(), record.New()
	for range 9900 {
		a.Record(time.Millisecond)
	}
	for range 100 {
		b.Record(time.Second)
	}
	a.Merge(b)
	require.EqualValues(t, 10_000, a.Count())
	require.InEpsilon(t, time.Millisecond, a.Quantile(0.99), 0.001)
	require.InEpsilon(t, time.Second, a.Quantile(0.991), 0.001)
	require.InEpsilon(t, 10_990*time.Microsecond, a.Mean(), 0.001)
}

func TestMergeKeepsWhatWasOutsideTheRange(t *testing.T) {
	a, b := record.New(), record.New()
	b.Record(2 * time.Minute)
	a.Merge(b)
	require.EqualValues(t, 1, a.Saturated())
	require.Equal(t, 2*time.Minute, a.Max())
}

func TestBarsHoldEveryCount(t *testing.T) {
	h := record.New()
	for _, d := range []time.Duration{0, 3 * time.Microsecond, 900 * time.Microsecond, 40 * time.Millisecond, 2 * time.Minute} {
		h.Record(d)
	}
	var sum int64
	for _, b := range h.Bars() {
		sum += b.Count
	}
	require.EqualValues(t, 5, sum)
	require.Empty(t, record.New().Bars())
}

func TestLogIsReadBackWithItsTagsAndTimes(t *testing.T) {
	var buf bytes.Buffer
	start := time.UnixMilli(1_700_000_000_000)
	l, err := record.NewLog(&buf, start, "a test")
	require.NoError(t, err)
	h := record.New()
	h.Record(5 * time.Millisecond)
	require.NoError(t, l.Interval("critical", time.Second, 2*time.Second, h))
	require.Error(t, l.Interval("a,b", 0, time.Second, h))

	r := hdr.NewHistogramLogReader(&buf)
	got, err := r.NextIntervalHistogram()
	require.NoError(t, err)
	require.Equal(t, "critical", got.Tag())
	require.EqualValues(t, 1, got.TotalCount())
	require.Equal(t, start.Add(time.Second).UnixMilli(), got.StartTimeMs())
	require.Equal(t, start.Add(2*time.Second).UnixMilli(), got.EndTimeMs())
}
