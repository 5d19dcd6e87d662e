package bench

import (
	"fmt"
	"testing"

	"github.com/weir-go/weir/bench/internal/workload"
)

// BenchmarkNewKeyStorm times single decisions while every key is new. One
// operation is a storm of a million; what counts are the quantiles of one
// decision, in ns, and p99.9/p50.
func BenchmarkNewKeyStorm(b *testing.B) {
	for _, cores := range []int{1, 2} {
		b.Run(fmt.Sprintf("keys=1M/cores=%d/layers=rate/state=new", cores), func(b *testing.B) {
			b.ReportAllocs()
			var s workload.Storm
			for b.Loop() {
				s = workload.NewKeyStorm(workload.Rate, 1e6, cores)
			}
			b.ReportMetric(float64(s.Median), "p50-ns")
			b.ReportMetric(float64(s.P999), "p99.9-ns")
			b.ReportMetric(float64(s.P999)/float64(max(s.Median, 1)), "p99.9/p50")
		})
	}
}
