package ladder

import (
	"math"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	schedMetric = "/sched/latencies:seconds"
	// The runtime itself takes 1 ms of waiting for a processor as the limit of
	// good health in a service that answers in milliseconds; a goroutine that
	// waits for a whole preemption slice, 10 ms, is behind a full processor.
	schedTarget = 1e-3
	schedFull   = 10e-3
	// The runtime records one in eight of its scheduling events. Below 100 the
	// 99th percentile is the worst one, so the window stays open; after
	// schedPatience the process is so idle that what there is will do.
	schedEvents   = 100
	schedPatience = 10 * time.Second
)

// SchedLatency is the signal of a service without a worker pool: how long
// goroutines that could run wait for a processor, as the 99th percentile of the
// window since the last reading. 1 ms is 0.8 and 10 ms is 1. It says nothing
// about a service that waits for others; give such a one [Standing].
type SchedLatency struct {
	mu     sync.Mutex
	sample []metrics.Sample
	prev   []uint64 // counts at the start of the window
	since  time.Time
}

// NewSchedLatency returns the signal; its first window starts now.
func NewSchedLatency() *SchedLatency {
	s := &SchedLatency{sample: []metrics.Sample{{Name: schedMetric}}, since: time.Now()}
	metrics.Read(s.sample)
	if h := s.histogram(); h != nil {
		s.prev = append(s.prev, h.Counts...)
	}
	return s
}

// Read returns the signal. While the window holds too few events, or on a
// runtime without the metric, it is no reading. It does not allocate.
func (s *SchedLatency) Read() Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	metrics.Read(s.sample)
	h := s.histogram()
	if h == nil || len(h.Counts) != len(s.prev) {
		return Reading{}
	}
	now := time.Now()
	p99, events := quantile(h, s.prev, 0.99)
	if events < schedEvents && now.Sub(s.since) < schedPatience {
		return Reading{}
	}
	copy(s.prev, h.Counts)
	s.since = now
	return Reading{Value: ramp(p99, schedTarget, schedFull), At: now, OK: true}
}

func (s *SchedLatency) histogram() *metrics.Float64Histogram {
	if s.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	return s.sample[0].Value.Float64Histogram()
}

// quantile returns the q-quantile of what was counted since prev, as the upper
// edge of its bucket, and how much that is. Of nothing it is 0.
func quantile(h *metrics.Float64Histogram, prev []uint64, q float64) (value float64, events uint64) {
	for i, n := range h.Counts {
		events += n - prev[i]
	}
	if events == 0 {
		return 0, 0
	}
	rank := uint64(math.Ceil(q * float64(events)))
	for i, n := range h.Counts {
		if d := n - prev[i]; d < rank {
			rank -= d
			continue
		}
		if edge := h.Buckets[i+1]; !math.IsInf(edge, 1) {
			return edge, events
		}
		return h.Buckets[i], events
	}
	return 0, events // not reached: the ranks add up to events
}
