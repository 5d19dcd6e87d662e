//go:build explore

package gate

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/explore"
)

// caller is one request's way through the gate. Escrow means that the bounds
// are those of a lease, given with every call.
type caller struct {
	g        *Gate
	critical bool
	escrow   bool
	inside   bool
	refused  bool
}

func (c *caller) enter(alloc, hardCap int) {
	if c.escrow {
		c.inside = c.g.EnterWithin(c.critical, alloc, hardCap)
	} else {
		c.inside = c.g.Enter(c.critical)
	}
	c.refused = !c.inside
}

func (c *caller) leave() {
	if c.inside {
		c.g.Leave(c.critical)
		c.inside = false
	}
}

// Ordinary and critical requests at the same time: at no moment are there more
// ordinary ones than the allocation, nor more in all than the hard cap, nobody
// is refused while there is room for all who ask, and all places come back.
func TestExploreTheGate(t *testing.T) {
	for _, escrow := range []bool{false, true} {
		g := &Gate{}
		g.Resize(1, 2)
		var a, b, c caller
		r := explore.Run(explore.Scenario{
			Reset: func() {
				a, b = caller{g: g, escrow: escrow}, caller{g: g, escrow: escrow}
				c = caller{g: g, escrow: escrow, critical: true}
			},
			Threads: []func(){
				func() { a.enter(1, 2); a.leave(); a.enter(1, 2) },
				func() { b.enter(1, 2); b.leave() },
				func() { c.enter(1, 2); c.leave() },
			},
			Step: func() error {
				critical, other := g.Inside()
				if other > 1 || critical+other > 2 {
					return fmt.Errorf("%d critical and %d other inside", critical, other)
				}
				return nil
			},
			Final: func() error {
				critical, other := g.Inside()
				if c.refused {
					return fmt.Errorf("critical refused beside at most one other")
				}
				if critical != 0 || other != 0 && !a.inside || other == 0 && a.inside {
					return fmt.Errorf("%d critical and %d other left inside", critical, other)
				}
				return nil
			},
		})
		t.Log(r)
		require.NoError(t, r.Err)
	}
}

// A gate that shrinks below what is inside admits nothing, not even whoever
// came before it shrank, until enough have left.
func TestExploreTheGateShrinks(t *testing.T) {
	g := &Gate{}
	g.Resize(2, 0)
	require.True(t, g.Enter(false))
	require.True(t, g.Enter(false))
	var a, b caller
	r := explore.Run(explore.Scenario{
		Reset: func() { a, b = caller{g: g}, caller{g: g, inside: true} },
		Threads: []func(){
			func() { a.enter(0, 0) },
			func() { g.Resize(1, 0); b.leave() },
		},
		Final: func() error {
			if a.inside {
				return fmt.Errorf("admitted: the gate was full at 2 of 2 before and at 1 of 1 after")
			}
			return nil
		},
	})
	t.Log(r)
	require.NoError(t, r.Err)
}
