package bench

import (
	"fmt"
	"testing"

	"github.com/weir-go/weir/bench/internal/workload"
)

// BenchmarkFourLayers is a decision with a rate and an in-flight claim on one
// key, the gate and the ladder; and each of these layers alone.
func BenchmarkFourLayers(b *testing.B) {
	for _, layers := range []workload.Layers{workload.Rate, workload.Concurrency, workload.Fleet, workload.Worker} {
		b.Run(fmt.Sprintf("keys=1k/dist=uniform/cores=1/layers=%s/state=known", layers), func(b *testing.B) {
			known(b, layers, 1e3, workload.Uniform, 1)
		})
	}
	// The gate is the one word that every request of the process writes.
	b.Run("keys=1k/dist=uniform/cores=2/layers=fleet/state=contended", func(b *testing.B) {
		known(b, workload.Fleet, 1e3, workload.Uniform, 2)
	})
	for _, keys := range sizes(1e3, 1e6) {
		for _, dist := range []workload.Dist{workload.Uniform, workload.Zipf} {
			for _, cores := range []int{1, 2} {
				b.Run(fmt.Sprintf("keys=%s/dist=%s/cores=%d/layers=all/state=known", workload.Count(keys), dist, cores), func(b *testing.B) {
					known(b, workload.All, keys, dist, cores)
				})
			}
		}
	}
	b.Run("keys=1M/dist=once/cores=1/layers=all/state=new", func(b *testing.B) { unseen(b, workload.All, 1e6) })
	b.Run("keys=1/dist=uniform/cores=2/layers=all/state=contended", func(b *testing.B) {
		known(b, workload.All, 1, workload.Uniform, 2)
	})
}

// BenchmarkRefused is a decision that one of the layers refuses, with all four
// configured.
func BenchmarkRefused(b *testing.B) {
	for _, by := range []workload.By{workload.ByRate, workload.ByConcurrency, workload.ByFleet, workload.ByWorker} {
		for _, cores := range []int{1, 2} {
			b.Run(fmt.Sprintf("keys=1k/dist=uniform/cores=%d/layers=all/by=%s/state=refused", cores, by), func(b *testing.B) {
				refused(b, by, 1e3, cores)
			})
		}
	}
	b.Run("keys=1M/dist=uniform/cores=1/layers=all/by=rate/state=refused", func(b *testing.B) {
		refused(b, workload.ByRate, 1e6, 1)
	})
}

func refused(b *testing.B, by workload.By, keys, cores int) {
	drive(b, cores, tape(keys, workload.Uniform), rig(workload.All, by, keys).Decide, false)
}
