package bench

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/weir-go/weir/bench/internal/workload"
)

// BenchmarkOneClaim is a decision with one token-bucket claim and no other
// layer: what other libraries offer as their whole.
func BenchmarkOneClaim(b *testing.B) {
	for _, keys := range sizes(1, 1e3, 1e6) {
		for _, dist := range []workload.Dist{workload.Uniform, workload.Zipf} {
			for _, cores := range []int{1, 2} {
				if keys == 1 && (dist == workload.Zipf || cores == 2) {
					continue // one key has one distribution; two cores on it are the contended state
				}
				b.Run(fmt.Sprintf("keys=%s/dist=%s/cores=%d/state=known", workload.Count(keys), dist, cores), func(b *testing.B) {
					known(b, workload.Rate, keys, dist, cores)
				})
			}
		}
	}
	b.Run("keys=1/dist=uniform/cores=2/state=contended", func(b *testing.B) {
		known(b, workload.Rate, 1, workload.Uniform, 2)
	})
	b.Run("keys=1M/dist=once/cores=1/state=new", func(b *testing.B) { unseen(b, workload.Rate, 1e6) })
	for _, cores := range []int{1, 2} {
		b.Run(fmt.Sprintf("keys=1M/dist=uniform/cores=%d/state=evicting", cores), func(b *testing.B) { evicting(b, 1e6, cores) })
	}
	// A table much larger than its keys: what weir costs where nobody sized it.
	b.Run("keys=1k/entries=1M/dist=uniform/cores=1/state=known", func(b *testing.B) {
		rig := workload.NewRig(workload.Rate, workload.Nobody, 1e3, 1e6)
		defer rig.Close()
		rig.Fill(1e3)
		drive(b, 1, tape(1e3, workload.Uniform), rig.Decide, true)
	})
}

// unseen runs decisions on keys that have never asked, with an empty table for
// every so many of them.
func unseen(b *testing.B, layers workload.Layers, keys int) {
	t := tape(keys, workload.Once)
	rig := workload.NewRig(layers, workload.Nobody, keys, 0)
	defer func() { rig.Close() }()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	b.ReportAllocs()
	b.ResetTimer()
	i, wrong := 0, 0
	for b.Loop() {
		if i == t.Len() {
			b.StopTimer()
			rig.Close()
			rig, i = workload.NewRig(layers, workload.Nobody, keys, 0), 0
			b.StartTimer()
		}
		if !rig.Decide(t.At(i)) {
			wrong++
		}
		i++
	}
	check(b, int64(wrong))
}

// evicting runs decisions on keys of which the table holds a sixteenth: nearly
// every one of them is new and takes the place of a key that has been idle for
// long enough to be forgotten.
func evicting(b *testing.B, keys, cores int) {
	rig := workload.NewRig(workload.Rate, workload.Nobody, keys, keys/16)
	defer rig.Close()
	rig.Fill(keys)
	drive(b, cores, tape(keys, workload.Uniform), rig.Decide, true)
}
