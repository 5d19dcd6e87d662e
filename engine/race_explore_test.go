//go:build explore

package engine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/explore"
)

// asked is what one thread asked for and got; all threads start it anew.
type asked struct {
	f      *fixture
	claims []engine.Claim
	ok     bool
}

// admit asks and keeps what it gets.
func (a *asked) admit() *engine.Ticket {
	tk := a.f.Admit(engine.Request{Class: engine.Read, Claims: a.claims})
	a.ok = tk.OK()
	return &tk
}

// interleave runs the threads through every interleaving of the words of the
// table and of the gate. The rest of an engine is counters.
func interleave(t *testing.T, sc explore.Scenario) {
	t.Helper()
	sc.LocksGuardWords = true
	r := explore.Run(sc)
	t.Log(r)
	if r.Err != nil {
		trace, _ := explore.Replay(sc, r)
		for _, line := range trace {
			t.Log(line)
		}
	}
	require.NoError(t, r.Err)
}

// Two requests, each with a limit of its own and one that they share and that
// has room for one of them: one is admitted and the other leaves no trace,
// neither on its own limit nor in the gate, whichever way their words come to be
// charged.
func TestExploreALostRaceLeavesNoTrace(t *testing.T) {
	for name, known := range map[string]bool{"known keys": true, "new keys": false} {
		t.Run(name, func(t *testing.T) {
			f := start(t, engine.Config{
				Limits:     []engine.Limit{tokens("own", 1, time.Hour, 5), tokens("shared", 1, time.Hour, 2)},
				Gate:       engine.Gate{Capacity: 2},
				MaxEntries: 1,
			})
			used := int64(0)
			f.take("shared", "all", 1)
			if known {
				used = 1
				f.take("own", "a", 1)
				f.take("own", "b", 1)
			}
			var a, b asked
			interleave(t, explore.Scenario{
				Reset: func() {
					a = asked{f: f, claims: []engine.Claim{f.claim("own", "a", 1), f.claim("shared", "all", 1)}}
					b = asked{f: f, claims: []engine.Claim{f.claim("own", "b", 1), f.claim("shared", "all", 1)}}
				},
				Threads: []func(){func() { a.admit() }, func() { b.admit() }},
				Final: func() error {
					if a.ok == b.ok {
						return fmt.Errorf("admitted: %v and %v", a.ok, b.ok)
					}
					s := f.Snapshot()
					if s.Gate.Other != 1 {
						return fmt.Errorf("%d inside the gate", s.Gate.Other)
					}
					for user, ok := range map[string]bool{"a": a.ok, "b": b.ok} {
						want := 5 - used - 1
						if ok {
							want--
						}
						if left := f.take("own", user, 1).Remaining; left != want {
							return fmt.Errorf("%s was charged wrongly: %d left, not %d", user, left, want)
						}
					}
					return nil
				},
			})
		})
	}
}

// Lone claims on one key, beside one of two limits that may lose a race for the second
// and is undone: as many are admitted as the bucket has tokens, and the key is charged
// for those.
func TestExploreLoneClaimsOnOneKey(t *testing.T) {
	f := start(t, engine.Config{
		Limits:     []engine.Limit{tokens("api", 1, time.Hour, 4), tokens("last", 1, time.Hour, 2)},
		MaxEntries: 1,
	})
	f.take("api", "u", 1)
	f.take("last", "all", 1)
	var a, b, c, d asked
	interleave(t, explore.Scenario{
		Reset: func() {
			a = asked{f: f, claims: []engine.Claim{f.claim("api", "u", 1)}}
			b = asked{f: f, claims: []engine.Claim{f.claim("api", "u", 1), f.claim("last", "all", 1)}}
			c = asked{f: f, claims: []engine.Claim{f.claim("last", "all", 1)}}
			d = asked{f: f, claims: []engine.Claim{f.claim("api", "u", 2)}}
		},
		Threads: []func(){func() { a.admit(); d.admit() }, func() { b.admit() }, func() { c.admit() }},
		Final: func() error {
			left := int64(3)
			for _, q := range []*asked{&a, &b, &d} {
				if q.ok {
					left -= q.claims[0].Cost
				}
			}
			switch {
			case b.ok == c.ok:
				return fmt.Errorf("of one token were admitted %v and %v", b.ok, c.ok)
			case !a.ok:
				return fmt.Errorf("refused with a token for all who come before")
			case left < 0:
				return fmt.Errorf("%d more than there is", -left)
			}
			if n := f.left("api", "u"); n != left {
				return fmt.Errorf("%d left, not %d", n, left)
			}
			return nil
		},
	})
}

// A job that uses all of its key's bucket, from its estimate to its settlement,
// never leaves room for another in between.
func TestExploreASettlementLeavesNoGap(t *testing.T) {
	costs := tokens("costs", 1, time.Hour, 2)
	costs.PostPaid = true
	f := start(t, engine.Config{Limits: []engine.Limit{costs}, MaxEntries: 1})
	var a, b asked
	interleave(t, explore.Scenario{
		Reset: func() {
			a = asked{f: f, claims: []engine.Claim{f.claim("costs", "u", 2)}}
			b = asked{f: f, claims: []engine.Claim{f.claim("costs", "u", 1)}}
		},
		Threads: []func(){
			func() {
				tk := a.admit()
				tk.Settle(1, 2)
				tk.Done(engine.Success)
			},
			func() { b.admit() },
		},
		Final: func() error {
			if a.ok && b.ok {
				return fmt.Errorf("both were admitted")
			}
			return nil
		},
	})
}

// A request that gives back its place twice, while another takes one, gives back
// one.
func TestExploreDoneTwice(t *testing.T) {
	f := start(t, engine.Config{Limits: []engine.Limit{inFlight("jobs", 3)}, Gate: engine.Gate{Capacity: 3}, MaxEntries: 1})
	held := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("jobs", "u", 1)}})
	require.True(t, held.OK())
	var a, b asked
	interleave(t, explore.Scenario{
		Reset: func() {
			a = asked{f: f, claims: []engine.Claim{f.claim("jobs", "u", 1)}}
			b = asked{f: f, claims: []engine.Claim{f.claim("jobs", "u", 1)}}
		},
		Threads: []func(){
			func() {
				tk := a.admit()
				tk.Done(engine.Success)
				tk.Done(engine.Success)
			},
			func() { b.admit() },
		},
		Final: func() error {
			s := f.Snapshot()
			if s.Gate.Other != 2 || s.Limits[0].InFlight != 2 {
				return fmt.Errorf("%d in the gate and %d of the key", s.Gate.Other, s.Limits[0].InFlight)
			}
			return nil
		},
	})
	held.Done(engine.Success)
}
