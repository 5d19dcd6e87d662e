package record

import (
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// The range of a histogram made by New, at three significant digits.
const (
	Lowest  = time.Nanosecond
	Highest = 60 * time.Second
)

// Histogram is a distribution of latencies. It is for one goroutine.
type Histogram struct {
	h         *hdr.Histogram
	highest   time.Duration
	saturated int64
	max       time.Duration
	sum       float64
}

// New returns an empty histogram from Lowest to Highest.
func New() *Histogram { return NewRange(Lowest, Highest) }

// NewRange returns an empty histogram with another range; lowest is at least
// 1 ns and highest at least twice that.
func NewRange(lowest, highest time.Duration) *Histogram {
	return &Histogram{h: hdr.New(int64(lowest), int64(highest), 3), highest: highest}
}

// Record adds one latency. One below 0 counts as 0, one above the range counts
// at its edge and as saturated.
func (h *Histogram) Record(d time.Duration) {
	h.max = max(h.max, d)
	d = max(d, 0)
	if d > h.highest {
		h.saturated++
		d = h.highest
	}
	h.sum += float64(d)
	if err := h.h.RecordValue(int64(d)); err != nil {
		// The range was checked above, so this is a fault of the range itself.
		panic("record: " + err.Error())
	}
}

// Merge adds what o has counted. Both have the same range.
func (h *Histogram) Merge(o *Histogram) {
	h.h.Merge(o.h)
	h.saturated += o.saturated
	h.max = max(h.max, o.max)
	h.sum += o.sum
}

// Reset empties the histogram.
func (h *Histogram) Reset() {
	h.h.Reset()
	h.saturated, h.max, h.sum = 0, 0, 0
}

// Count is how many latencies were recorded, saturated ones too.
func (h *Histogram) Count() int64 { return h.h.TotalCount() }

// Saturated is how many of them were above the range.
func (h *Histogram) Saturated() int64 { return h.saturated }

// Max is the largest latency as it was recorded, inside the range or not; 0
// when there is none.
func (h *Histogram) Max() time.Duration { return h.max }

// Mean is the mean latency, saturated ones at the edge of the range.
func (h *Histogram) Mean() time.Duration {
	if h.Count() == 0 {
		return 0
	}
	return time.Duration(h.sum / float64(h.Count()))
}

// Quantile is the latency that a share q of all did not pass, 0 < q <= 1; at
// q = 1 it is Max. A result at or above the end of the range is only a lower
// bound when Saturated is not 0.
func (h *Histogram) Quantile(q float64) time.Duration {
	if q >= 1 {
		return h.max
	}
	// A bucket answers with its upper end, which may lie above what was recorded.
	return min(time.Duration(h.h.ValueAtQuantile(q*100)), h.max)
}

// Bar is one row of a text histogram: how many latencies are at most UpTo and
// above the bar before it.
type Bar struct {
	UpTo  time.Duration
	Count int64
}

// Bars cuts the distribution into steps of 1, 2 and 5 per decade.
func (h *Histogram) Bars() []Bar {
	var bars []Bar
	edges := func(yield func(time.Duration) bool) {
		for decade := time.Duration(1); ; decade *= 10 {
			for _, m := range []time.Duration{1, 2, 5} {
				if !yield(decade * m) {
					return
				}
			}
		}
	}
	var sum int64
	rows := h.h.Distribution()
	for edge := range edges {
		var n int64
		for len(rows) > 0 && rows[0].From <= int64(edge) {
			n += rows[0].Count
			rows = rows[1:]
		}
		sum += n
		if n > 0 || len(bars) > 0 {
			bars = append(bars, Bar{edge, n})
		}
		if sum == h.Count() {
			return bars
		}
	}
	return bars
}
