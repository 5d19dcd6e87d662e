package bench

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/weir-go/weir/bench/internal/rivals"
	"github.com/weir-go/weir/gate"
)

// BenchmarkGate is entering and leaving the gate's one word, and its rival of
// several words, with and without work between one request and the next. The
// word wins on two cores; on sixteen or more, look again.
func BenchmarkGate(b *testing.B) {
	const places = 1 << 20
	for _, cores := range []int{1, 2} {
		for _, work := range []int{0, 65} {
			name := func(rival, state string) string {
				return fmt.Sprintf("rival=%s/cores=%d/work=%dns/state=%s", rival, cores, work, state)
			}
			word := new(gate.Gate)
			word.Resize(places, 0)
			b.Run(name("word", "known"), func(b *testing.B) {
				gates(b, cores, work, func(int) bool { return word.Enter(false) }, func(int) { word.Leave(false) })
			})
			stripes := rivals.NewStripes(runtime.NumCPU(), places)
			b.Run(name("stripes", "known"), func(b *testing.B) { gates(b, cores, work, stripes.Enter, stripes.Leave) })
			if work > 0 {
				continue
			}
			full := new(gate.Gate)
			b.Run(name("word", "refused"), func(b *testing.B) {
				gates(b, cores, work, func(int) bool { return !full.Enter(false) }, func(int) {})
			})
			empty := rivals.NewStripes(runtime.NumCPU(), 0)
			b.Run(name("stripes", "refused"), func(b *testing.B) {
				gates(b, cores, work, func(own int) bool { return !empty.Enter(own) }, func(int) {})
			})
		}
	}
}

func gates(b *testing.B, cores, work int, enter func(own int) bool, leave func(own int)) {
	if runtime.NumCPU() < cores {
		b.Skipf("needs %d cores", cores)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	b.ReportAllocs()
	defer processor(b)()
	b.ResetTimer()
	var worker, wrong atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		own, x := int(worker.Add(1)-1), uint64(1)
		for pb.Next() {
			if enter(own) {
				leave(own)
			} else {
				wrong.Add(1)
			}
			for range work / 2 { // about 2 ns a step
				x ^= x << 13
				x ^= x >> 7
			}
		}
		atomic.AddUint64(&sink, x)
	})
	check(b, wrong.Load())
}
