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
	refused  int
}

func (c *caller) enter(alloc, hardCap int) {
	if c.escrow {
		c.note(c.g.EnterWithin(c.critical, alloc, hardCap))
	} else {
		c.note(c.g.Enter(c.critical))
	}
}

func (c *caller) note(entered bool) {
	if c.inside = entered; !entered {
		c.refused++
	}
}

func (c *caller) leave() {
	if c.inside {
		c.inside = false
		c.g.Leave(c.critical)
	}
}

func count(callers ...*caller) (inside int) {
	for _, c := range callers {
		if c.inside {
			inside++
		}
	}
	return inside
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
				if c.refused > 0 {
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

// Two who come while the gate shrinks and another leaves after that: the count
// that the one has seen comes back, but what it may rise to does not. The other
// way about, who comes while there is room before and after is not refused.
func TestExploreACountThatComesBackInASmallerGate(t *testing.T) {
	g := &Gate{}
	g.Resize(2, 0)
	require.True(t, g.Enter(false))
	var a, b, c caller
	reset := func() { a, b, c = caller{g: g, inside: true}, caller{g: g}, caller{g: g} }
	r := explore.Run(explore.Scenario{
		Reset: reset,
		Threads: []func(){
			func() { b.enter(0, 0) },
			func() { c.enter(0, 0) },
			func() { g.Resize(1, 0); a.leave() },
		},
		Final: func() error {
			if count(&b, &c) == 2 {
				return fmt.Errorf("the second was admitted after the gate had room for one")
			}
			return nil
		},
	})
	t.Log(r)
	require.NoError(t, r.Err)

	r = explore.Run(explore.Scenario{
		Reset: reset,
		Threads: []func(){
			func() { c.enter(0, 0) },
			func() { a.leave(); g.Resize(1, 0) },
		},
		Final: func() error {
			if c.refused > 0 {
				return fmt.Errorf("refused with a place free at every moment")
			}
			return nil
		},
	})
	t.Log(r)
	require.NoError(t, r.Err)
}

// Who enters by a lease while the gate is resized counts by the size that the
// gate has then: there are never more inside than the lease allows, nobody is
// left behind, and one who comes when nobody else does gets in.
func TestExploreALeaseWhileTheGateIsResized(t *testing.T) {
	g := &Gate{}
	g.Resize(2, 0)
	g.Hold()
	require.True(t, g.EnterWithin(false, 2, 0))
	var a, b, c caller
	for _, size := range []int{1, 3} {
		r := explore.Run(explore.Scenario{
			LocksGuardWords: true,
			Reset: func() {
				a, b, c = caller{g: g, inside: true}, caller{g: g, escrow: true}, caller{g: g, escrow: true}
			},
			Threads: []func(){
				func() { b.enter(2, 0) },
				func() { c.enter(2, 0) },
				func() { g.Resize(size, 0) },
			},
			Final: func() error {
				n := count(&a, &b, &c)
				if n > 2 {
					return fmt.Errorf("%d inside by a lease of 2", n)
				}
				if b.refused+c.refused > 1 {
					return fmt.Errorf("both refused, and there was a place for one")
				}
				if critical, other := g.Inside(); critical != 0 || other != n {
					return fmt.Errorf("inside are %d; the gate says %d critical and %d other", n, critical, other)
				}
				return nil
			},
		})
		t.Log(r)
		require.NoError(t, r.Err)
	}
}
