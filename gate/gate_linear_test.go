package gate_test

import (
	"fmt"
	"math/rand/v2"
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
	Init: func() any { return gateState{alloc: 2, hardCap: 4} },
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
		fits := s.critical+s.other < s.hardCap && (op.critical || s.other < s.alloc)
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
		g := &gate.Gate{}
		g.Resize(2, 4)
		histories.Check(t, sequential, 6, func(client int, call func(in gateOp, f func() bool)) {
			rnd := rand.New(rand.NewPCG(round, uint64(client)))
			for range 12 {
				if client == 0 && rnd.IntN(3) == 0 {
					op := gateOp{what: "resize", alloc: rnd.IntN(4), hardCap: 1 + rnd.IntN(5)}
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
