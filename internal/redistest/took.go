package redistest

import (
	"fmt"
	"time"
)

// Took counts how long the decisions of a test took, to the nanosecond up to
// 65 us. It is for one goroutine. The zero value is empty.
type Took struct {
	count [1 << 16]uint32
	n     int
	most  time.Duration
}

// Add counts a decision.
func (t *Took) Add(d time.Duration) {
	t.count[min(max(int(d), 0), len(t.count)-1)]++
	t.n++
	t.most = max(t.most, d)
}

// Quantile returns the time within which the part q of the decisions was made,
// 0 to 1; of those above 65 us only the longest is known.
func (t *Took) Quantile(q float64) time.Duration {
	left := int(q * float64(t.n))
	for ns, n := range t.count[:len(t.count)-1] {
		if left -= int(n); left < 0 {
			return time.Duration(ns)
		}
	}
	return t.most
}

// Most returns the longest.
func (t *Took) Most() time.Duration { return t.most }

// String returns the quantiles that matter.
func (t *Took) String() string {
	return fmt.Sprintf("p50 %v p99 %v p99.9 %v most %v", t.Quantile(0.5), t.Quantile(0.99), t.Quantile(0.999), t.most)
}
