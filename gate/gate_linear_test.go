package gate_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/gate"
	"github.com/weir-go/weir/internal/histories"
)

// gateOp is one call: enter, leave or resize.
type gateOp struct {
	what     string
	critical bool
	alloc    int // resize
	hardCap  int
}

// gateState is the sequential gate.
type gateState struct{ critical, other, alloc, hardCap int }

var sequential = porcupine.Model{
	Init: func() any { return gateState{alloc: 2} },
	Step: func(state, input, output any) (bool, any) {
		s, op, ok := state.(gateState), input.(gateOp), output.(bool)
		switch op.what {
		case "resize":
			s.alloc, s.hardCap = op.alloc, op.hardCap
			return true, s
		case "leave":
			if op.critical {
				s.critical--
			} else {
				s.other--
			}
			return true, s
		}
		fits := (s.hardCap == 0 || s.critical+s.other < s.hardCap) && (op.critical || s.other < s.alloc)
		if ok != fits {
			return false, s
		}
		if ok && op.critical {
			s.critical++
		} else if ok {
			s.other++
		}
		return true, s
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v: %v", input, output) },
}

// Histories of real goroutines are those of some sequential gate: nothing is
// admitted past a cap, and nothing is refused while there is room.
func TestTheGateIsLinearizable(t *testing.T) {
	for round := range uint64(60) {
		g := sized(2, 0)
		histories.Check(t, sequential, 6, func(client int, call func(in gateOp, f func() bool)) {
			rnd := rand.New(rand.NewPCG(round, uint64(client)))
			for range 12 {
				if client == 0 && rnd.IntN(3) == 0 {
					op := gateOp{what: "resize", alloc: rnd.IntN(4), hardCap: rnd.IntN(5)}
					call(op, func() bool { g.Resize(op.alloc, op.hardCap); return true })
					continue
				}
				op := gateOp{what: "enter", critical: rnd.IntN(3) == 0}
				entered := false
				call(op, func() bool { entered = g.Enter(op.critical); return entered })
				if entered {
					call(gateOp{what: "leave", critical: op.critical}, func() bool { g.Leave(op.critical); return true })
				}
			}
		})
		critical, other := g.Inside()
		require.Zero(t, critical+other)
	}
}

// The same where places lie apart in two stripes, whatever brings them there and
// back: somebody lets them go apart all the time, the size changes, and requests
// enter by one way and leave by another.
func TestTheGateIsLinearizableWithItsPlacesApart(t *testing.T) {
	apart := 0
	for round := range uint64(120) {
		g, ways := new(gate.Gate), make([]gate.Stripe, 2)
		for i := range ways {
			g.Join(&ways[i])
		}
		g.Resize(2, 0)
		var over atomic.Bool
		var spreading sync.WaitGroup
		spreading.Go(func() {
			for !over.Load() {
				g.SpreadAnyway()
				if g.Apart() {
					apart++
				}
				runtime.Gosched()
			}
		})
		histories.Check(t, sequential, 5, func(client int, call func(in gateOp, f func() bool)) {
			rnd := rand.New(rand.NewPCG(round, uint64(client)))
			for range 16 {
				if client == 0 && rnd.IntN(4) == 0 {
					op := gateOp{what: "resize", alloc: rnd.IntN(4), hardCap: max(0, rnd.IntN(8)-4)}
					call(op, func() bool { g.Resize(op.alloc, op.hardCap); return true })
					continue
				}
				op := gateOp{what: "enter", critical: rnd.IntN(3) == 0}
				in, out := &ways[rnd.IntN(2)], &ways[rnd.IntN(2)]
				entered := false
				call(op, func() bool { entered = g.EnterBy(in, op.critical); return entered })
				if entered {
					call(gateOp{what: "leave", critical: op.critical}, func() bool { g.LeaveBy(out, op.critical); return true })
				}
			}
		})
		over.Store(true)
		spreading.Wait()
		critical, other := g.Inside()
		require.Zero(t, critical+other)
	}
	require.Positive(t, apart, "places lay apart")
}
