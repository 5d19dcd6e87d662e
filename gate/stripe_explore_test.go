//go:build explore

package gate

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/explore"
)

// spread is a gate with two stripes that nobody is inside of.
type spread struct {
	*Gate
	ways [2]Stripe
}

// newSpread returns a gate whose places are together (no numbers) or apart, with
// so many lying in each stripe.
func newSpread(t *testing.T, allocation int, lying ...int) *spread {
	t.Helper()
	s := &spread{Gate: &Gate{}}
	s.Join(&s.ways[0])
	s.Join(&s.ways[1])
	s.Resize(allocation, 0)
	for range lying {
		s.SpreadAnyway()
	}
	total := 0
	for _, n := range lying {
		total += n
	}
	for range total {
		require.True(t, s.Enter(false))
	}
	for way, n := range lying {
		for range n {
			s.LeaveBy(&s.ways[way], false)
		}
	}
	return s
}

// by sends the caller in by one stripe, as the engine does: who is not critical takes
// what lies there first.
func (s *spread) by(c *caller, way int) {
	c.note(!c.critical && s.ways[way].TakeOther() || s.EnterBy(&s.ways[way], c.critical))
}

// out lets the caller leave by one stripe, if inside.
func (s *spread) out(c *caller, way int) {
	if c.inside {
		c.inside = false
		s.LeaveBy(&s.ways[way], c.critical)
	}
}

// settled checks a gate that nobody is on the way into or out of: so many are
// inside as the callers say, and exactly the rest fits in.
func (s *spread) settled(callers ...*caller) error {
	critical, others := 0, 0
	for _, c := range callers {
		if c.inside && c.critical {
			critical++
		} else if c.inside {
			others++
		}
	}
	if c, o := s.Inside(); c != critical || o != others {
		return fmt.Errorf("inside are %d critical and %d other; the gate says %d and %d", critical, others, c, o)
	}
	s.together()
	if c, o := s.Inside(); c != critical || o != others || s.Apart() {
		return fmt.Errorf("inside are %d critical and %d other; the gate says %d and %d when together", critical, others, c, o)
	}
	allocation, hard := s.Limits()
	fits := allocation - others
	if hard > 0 {
		fits = min(fits, hard-critical-others)
	}
	for n := range fits {
		if !s.EnterBy(&s.ways[n%2], false) {
			return fmt.Errorf("%d more fit in of %d", n, fits)
		}
	}
	if s.Enter(false) {
		return fmt.Errorf("more than %d fit in", fits)
	}
	return nil
}

func run(t *testing.T, what string, sc explore.Scenario) {
	t.Helper()
	r := explore.Run(sc)
	t.Logf("%s: %v", what, r)
	if r.Err != nil {
		steps, _ := explore.Replay(sc, r)
		for _, step := range steps {
			t.Log(step)
		}
	}
	require.NoError(t, r.Err, what)
}

// starts are the ways for two places to lie: together, and apart in one way, in
// the other, or in both.
var starts = [][]int{nil, {0, 0}, {2, 0}, {0, 2}, {1, 1}}

// With as many places as callers nobody is ever refused, wherever the places
// lie, move to, and however often they go apart and come together: none is
// stranded, and none is overlooked on its way.
func TestExploreNobodyIsRefusedWhileThereIsRoom(t *testing.T) {
	for _, lying := range starts {
		s := newSpread(t, 2, lying...)
		var a, b caller
		run(t, fmt.Sprint("two callers, two places, lying ", lying), explore.Scenario{
			LocksGuardWords: true,
			Reset:           func() { a, b = caller{}, caller{} },
			Threads: []func(){
				func() { s.by(&a, 0); s.out(&a, 1); s.by(&a, 0) },
				func() { s.by(&b, 1); s.out(&b, 0) },
				func() { s.SpreadAnyway() },
			},
			Final: func() error {
				if a.refused+b.refused > 0 {
					return errors.New("refused with a place for everybody")
				}
				return s.settled(&a, &b)
			},
		})
	}
	for _, lying := range [][]int{nil, {0, 0}, {1, 0}, {0, 1}} {
		s := newSpread(t, 1, lying...)
		var a caller
		run(t, fmt.Sprint("one caller, one place, lying ", lying), explore.Scenario{
			LocksGuardWords: true,
			Reset:           func() { a = caller{} },
			Threads: []func(){
				func() { s.by(&a, 0); s.out(&a, 0); s.by(&a, 1); s.out(&a, 0); s.by(&a, 0) },
				func() { s.SpreadAnyway(); s.together() },
				func() { s.SpreadAnyway() },
			},
			Final: func() error {
				if a.refused > 0 {
					return errors.New("refused with a place for the only caller")
				}
				return s.settled(&a)
			},
		})
	}
}

// With fewer places than callers there are never more inside than places, and who
// is refused was refused for others who were inside.
func TestExploreThePlacesApartAreNoMore(t *testing.T) {
	for _, lying := range [][]int{nil, {0, 0}, {1, 0}, {0, 1}} {
		s := newSpread(t, 1, lying...)
		var a, b caller
		run(t, fmt.Sprint("two callers, one place, lying ", lying), explore.Scenario{
			Reset: func() { a, b = caller{}, caller{} },
			Threads: []func(){
				func() { s.by(&a, 0); s.out(&a, 1); s.by(&a, 1) },
				func() { s.by(&b, 1); s.out(&b, 1) },
				func() { s.SpreadAnyway() },
			},
			LocksGuardWords: true,
			Step: func() error {
				if n := count(&a, &b); n > 1 {
					return fmt.Errorf("%d inside", n)
				}
				return nil
			},
			Final: func() error {
				if b.refused > 0 && a.refused > 0 {
					return errors.New("refused for nobody")
				}
				return s.settled(&a, &b)
			},
		})
	}
	for _, lying := range starts {
		s := newSpread(t, 2, lying...)
		var a, b, c caller
		run(t, fmt.Sprint("three callers, two places, lying ", lying), explore.Scenario{
			LocksGuardWords: true,
			Reset:           func() { a, b, c = caller{}, caller{}, caller{} },
			Threads: []func(){
				func() { s.by(&a, 0) },
				func() { s.by(&b, 1) },
				func() { s.by(&c, 1); s.SpreadAnyway() },
			},
			Final: func() error {
				if n := count(&a, &b, &c); n != 2 {
					return fmt.Errorf("%d of three got in", n)
				}
				return s.settled(&a, &b, &c)
			},
		})
	}
}

// Critical requests come by one stripe and go by another, or by the word while it
// gathers: they are never refused without a hard cap, take no place of the
// others', and are all counted when it counts.
func TestExploreCriticalRequestsApart(t *testing.T) {
	for _, lying := range [][]int{nil, {0, 0}, {1, 0}} {
		s := newSpread(t, 1, lying...)
		var a, b, c caller
		run(t, fmt.Sprint("lying ", lying), explore.Scenario{
			LocksGuardWords: true,
			Reset:           func() { a, b, c = caller{critical: true}, caller{critical: true}, caller{} },
			Threads: []func(){
				func() { s.by(&a, 0); s.out(&a, 1); s.by(&a, 1) },
				func() { s.SpreadAnyway(); s.by(&b, 0); s.together() },
				func() { s.by(&c, 1) },
			},
			Final: func() error {
				if a.refused+b.refused+c.refused > 0 {
					return errors.New("refused")
				}
				return s.settled(&a, &b, &c)
			},
		})
	}
}

// A hard cap comes into force on places that lie apart: who comes after it is
// refused for all who are inside, wherever they came by.
func TestExploreAHardCapOnPlacesApart(t *testing.T) {
	for _, lying := range [][]int{{0, 0}, {1, 0}} {
		s := newSpread(t, 1, lying...)
		var a, b, c caller
		run(t, fmt.Sprint("lying ", lying), explore.Scenario{
			Reset: func() { a, b, c = caller{critical: true}, caller{}, caller{critical: true} },
			Threads: []func(){
				func() { s.by(&a, 0) },
				func() { s.by(&b, 0) },
				func() { s.Resize(1, 1); s.by(&c, 1) },
			},
			LocksGuardWords: true,
			Final: func() error {
				switch {
				case c.inside && count(&a, &b) > 0:
					return errors.New("more than the hard cap")
				case !c.inside && count(&a, &b) == 0:
					return errors.New("refused for nobody")
				}
				return s.settled(&a, &b, &c)
			},
		})
	}
}

// A gate that shrinks with its places apart: who comes after it goes by the new
// size, and those who came before are counted.
func TestExploreShrinkingWithPlacesApart(t *testing.T) {
	for _, lying := range starts {
		s := newSpread(t, 2, lying...)
		var a, b, c caller
		run(t, fmt.Sprint("lying ", lying), explore.Scenario{
			LocksGuardWords: true,
			Reset:           func() { a, b, c = caller{}, caller{}, caller{} },
			Threads: []func(){
				func() { s.by(&a, 0) },
				func() { s.by(&b, 1) },
				func() { s.Resize(1, 0); s.by(&c, 0) },
			},
			Final: func() error {
				n := count(&a, &b)
				if c.inside && n > 0 {
					return fmt.Errorf("%d inside beside one who came to a gate of 1", n)
				}
				if !c.inside && n == 0 {
					return errors.New("refused for nobody")
				}
				return s.settled(&a, &b, &c)
			},
		})
	}
	for _, lying := range [][]int{{0, 0}, {1, 1}} {
		s := newSpread(t, 2, lying...)
		var a, b, d caller
		run(t, fmt.Sprint("to nothing, lying ", lying), explore.Scenario{
			LocksGuardWords: true,
			Reset:           func() { a, b, d = caller{}, caller{critical: true}, caller{} },
			Threads: []func(){
				func() { s.by(&a, 0); s.out(&a, 1) },
				func() { s.by(&b, 1); s.SpreadAnyway(); s.out(&b, 0) },
				func() { s.Resize(0, 0); s.by(&d, 0) },
			},
			Final: func() error {
				if d.inside || b.refused > 0 {
					return errors.New("a gate for critical requests only let another in, or refused a critical one")
				}
				return s.settled(&a, &b, &d)
			},
		})
	}
}

// Who holds the gate together knows exactly how many are inside, and may bound
// them by something else from that moment on.
func TestExploreHoldingTheGate(t *testing.T) {
	for _, lying := range starts {
		s := newSpread(t, 2, lying...)
		var a, b, c caller
		run(t, fmt.Sprint("lying ", lying), explore.Scenario{
			Reset: func() { a, b, c, s.held = caller{}, caller{critical: true}, caller{}, false },
			Threads: []func(){
				func() { s.by(&a, 0) },
				func() { s.by(&b, 1); s.SpreadAnyway(); s.out(&b, 0) },
				func() { s.Hold(); c.note(s.EnterWithin(false, 1, 0)) },
			},
			Final: func() error {
				switch {
				case s.Apart():
					return errors.New("places lie apart")
				case a.refused+b.refused > 0:
					return errors.New("refused with room")
				case c.refused > 0 && !a.inside:
					return errors.New("refused for nobody")
				}
				return s.settled(&a, &b, &c)
			},
		})
	}
}

// Places do not go apart again where a hard cap has come, somebody holds them, or
// a lease has filled the gate beyond its size, between the look at the gate and
// the lock.
func TestExploreSpreadingAgainstWhatForbidsIt(t *testing.T) {
	const allocation = 8
	var beyond [allocation + 1]caller
	for what, forbid := range map[string]func(*spread){
		"a hard cap": func(s *spread) { s.Resize(allocation, 1) },
		"held":       func(s *spread) { s.Hold() },
		"overfull": func(s *spread) {
			s.Hold()
			for i := range beyond {
				beyond[i].note(s.EnterWithin(false, len(beyond), 0))
			}
			s.Release()
		},
	} {
		s := newSpread(t, allocation)
		var a caller
		callers := []*caller{&a}
		for i := range beyond {
			callers = append(callers, &beyond[i])
		}
		run(t, what, explore.Scenario{
			Reset: func() {
				s.held, a = false, caller{critical: true}
				clear(beyond[:])
			},
			Threads: []func(){
				func() { s.Spread() },
				func() { forbid(s) },
				func() { s.by(&a, 0); s.out(&a, 1) },
			},
			Final: func() error {
				if s.Apart() {
					return errors.New("places lie apart")
				}
				return s.settled(callers...)
			},
		})
	}
}
