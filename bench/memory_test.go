package bench

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/weir-go/weir/bench/internal/workload"
)

// BenchmarkBytesPerKey makes an engine for so many keys and fills it; what one
// state takes is in B/state.
func BenchmarkBytesPerKey(b *testing.B) {
	for _, keys := range sizes(1e6) {
		b.Run(fmt.Sprintf("keys=%s/layers=rate", workload.Count(keys)), func(b *testing.B) {
			b.ReportAllocs()
			var per float64
			for b.Loop() {
				per = bytesPerState(keys)
			}
			b.ReportMetric(per, "B/state")
		})
	}
}

func bytesPerState(keys int) float64 {
	before := workload.MemoryNow()
	rig := workload.NewRig(workload.Rate, workload.Nobody, keys, 0)
	defer rig.Close()
	rig.Fill(keys)
	after := workload.MemoryNow()
	runtime.KeepAlive(rig)
	return float64(after.Since(before)) / float64(keys)
}

// BenchmarkGC is a full garbage collection beside a table: an empty one, and
// one full of states. The processor time of a cycle is in gc-cpu-ns/op.
func BenchmarkGC(b *testing.B) {
	for _, keys := range append([]int{0}, sizes(1e6)...) {
		b.Run(fmt.Sprintf("keys=%s/layers=rate", workload.Count(keys)), func(b *testing.B) {
			b.ReportAllocs()
			rig := workload.NewRig(workload.Rate, workload.Nobody, keys, 0)
			defer rig.Close()
			rig.Fill(keys)
			runtime.GC() // what the filling left behind
			var cpu time.Duration
			n := 0
			for b.Loop() {
				c, _ := workload.CollectGarbage()
				cpu += c
				n++
			}
			b.ReportMetric(float64(cpu.Nanoseconds())/float64(n), "gc-cpu-ns/op")
			runtime.KeepAlive(rig)
		})
	}
}
