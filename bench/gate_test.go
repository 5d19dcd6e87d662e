package bench

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/weir-go/weir/bench/internal/cores"
	"github.com/weir-go/weir/bench/internal/rivals"
	"github.com/weir-go/weir/gate"
)

// places are more than any benchmark takes: a gate with plenty of room.
const places = 1 << 20

// way is how a goroutine, by its number, gets in and out of a gate.
type way struct {
	enter func(own int) bool
	leave func(own int)
}

// word is a gate whose places never lie apart.
func word(places int) way {
	g := new(gate.Gate)
	g.Resize(places, 0)
	return way{func(int) bool { return g.Enter(false) }, func(int) { g.Leave(false) }}
}

// shipped is the gate as an engine has it: a stripe in each of 64 cache lines,
// spread wherever there is room.
type shipped struct {
	gate.Gate
	lanes [64]struct {
		gate.Stripe
		_ [56]byte
	}
}

func newShipped(places int) *shipped {
	s := new(shipped)
	for i := range s.lanes {
		s.Join(&s.lanes[i].Stripe)
	}
	s.Resize(places, 0)
	s.Spread()
	return s
}

func (s *shipped) way() way {
	return way{
		func(own int) bool { return s.EnterBy(&s.lanes[own%len(s.lanes)].Stripe, false) },
		func(own int) { s.LeaveBy(&s.lanes[own%len(s.lanes)].Stripe, false) },
	}
}

func stripes(places int) way {
	s := rivals.NewStripes(runtime.NumCPU(), places)
	return way{s.Enter, s.Leave}
}

// BenchmarkGate is entering and leaving the gate, and its rivals: one word for
// all, and several words that are searched. With and without work between one
// request and the next, on cores that each have a stripe.
func BenchmarkGate(b *testing.B) {
	for _, cores := range []int{1, 2} {
		for _, work := range []int{0, 65} {
			for _, rival := range []struct {
				name string
				make func(places int) way
			}{
				{"word", word},
				{"gate", func(places int) way { return newShipped(places).way() }},
				{"stripes", stripes},
			} {
				name := func(state string) string {
					return fmt.Sprintf("rival=%s/cores=%d/work=%dns/state=%s", rival.name, cores, work, state)
				}
				b.Run(name("known"), func(b *testing.B) { gates(b, cores, work, rival.make(places), true) })
				b.Run(name("refused"), func(b *testing.B) { gates(b, cores, work, rival.make(0), false) })
			}
		}
	}
	// What it costs, at most once in 10 ms, that places go apart and that somebody
	// then finds none.
	b.Run("rival=gate/cores=1/work=0ns/state=gathered", func(b *testing.B) {
		g := newShipped(places)
		b.ReportAllocs()
		for b.Loop() {
			g.Spread()
			g.Hold()
			g.Release()
		}
	})
}

func gates(b *testing.B, n, work int, w way, want bool) {
	if runtime.NumCPU() < n {
		b.Skipf("needs %d cores", n)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
	b.ReportAllocs()
	defer processor(b)()
	b.ResetTimer()
	var worker, wrong atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		own, x := int(worker.Add(1)-1), uint64(1)
		cores.Take(own)
		for pb.Next() {
			entered := w.enter(own)
			if entered {
				w.leave(own)
			}
			if entered != want {
				wrong.Add(1)
			}
			for range work { // about 1 ns a step
				x ^= x << 13
				x ^= x >> 7
			}
		}
		atomic.AddUint64(&sink, x)
	})
	check(b, wrong.Load())
}
