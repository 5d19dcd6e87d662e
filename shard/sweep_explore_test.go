//go:build explore

package shard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/explore"
)

// The sweep erases idle words of a retired limit while late requests still use
// them and another key wants the slot.
func TestExploreErase(t *testing.T) {
	w := newWorld(t, 1)
	l := w.token(3)
	old := l.of(0xa)
	old.take(1)
	old.undo()
	other := w.token(1)
	w.tab.Retire(l.ID)
	var a, b acct
	w.explore(explore.Scenario{
		Reset: func() { a, b = l.of(0xa), other.of(0xb) },
		Threads: []func(){
			func() {
				if a.take(1) {
					a.undo()
				}
				a.take(2)
			},
			func() { w.tab.visit(0, w.Now()); w.tab.visit(0, w.Now()) },
			func() { b.take(1) },
		},
		Final: func() error {
			return all(w.noTwins(),
				holds(a.arrival() == a.admitted, "a: %d admitted, %d charged", a.admitted, a.arrival()),
				holds(b.arrival() == b.admitted, "b: %d admitted, %d charged", b.admitted, b.arrival()))
		},
	})
}

// The sweep renews a word that fell far behind while its key comes back.
func TestExploreRenew(t *testing.T) {
	w := newWorld(t, 1)
	l := w.token(3)
	old := l.of(0xa)
	old.take(1)
	const far = 1 << 54
	w.now.Store(far)
	var a, b acct
	w.explore(explore.Scenario{
		Reset: func() { a, b = l.of(0xa), l.of(0xb) },
		Threads: []func(){
			func() { a.take(2) },
			func() { w.tab.visit(0, w.Now()) },
			func() { b.take(1) },
		},
		Final: func() error {
			return all(w.noTwins(),
				holds(a.arrival() == far+a.admitted || a.admitted == 0, "a: %d admitted, %d charged", a.admitted, a.arrival()-far),
				holds(b.arrival() == far+b.admitted, "b: %d admitted, %d charged", b.admitted, b.arrival()-far))
		},
	})
}

// Keys without room share a word: together they get what one key would get.
func TestExploreOverflow(t *testing.T) {
	w := newWorld(t, 0)
	l := w.token(1)
	var a, b acct
	shared := func(a *acct) {
		a.Claim = Claim{H: a.h, Cost: 1, Rule: a.Rule, ID: a.ID}
		if a.tab.Take(&a.Claim, a.Now(), true) == Taken {
			a.admitted++
		}
		a.summary()
	}
	w.explore(explore.Scenario{
		// Both keys overflow to the same word.
		Reset: func() { a, b = l.of(0x10), l.of(0x20) },
		Threads: []func(){
			func() { shared(&a) },
			func() {
				if shared(&b); b.admitted == 1 {
					b.undo()
				}
			},
		},
		Final: func() error {
			word := w.tab.slot(w.tab.overflow(0x10, l.ID)).word.Load()
			return all(holds(a.admitted+b.admitted <= 1, "%d admitted", a.admitted+b.admitted),
				holds(l.Rule.Left(word, 0) == 1-a.admitted, "%d admitted, %d left", a.admitted, l.Rule.Left(word, 0)))
		},
	})
}

// A limit that only watches gives way, and what it still holds is let go of
// without touching the key that took its slot.
func TestExploreShadowGivesWay(t *testing.T) {
	w := newWorld(t, 1)
	watch, l := w.flight(1), w.flight(1)
	w.tab.SetShadow(watch.ID, true)
	var a, b acct
	w.explore(explore.Scenario{
		Reset: func() { a, b = watch.of(0xa), l.of(0xb) },
		Threads: []func(){
			func() {
				if a.take(1) {
					a.release()
				}
			},
			func() { b.take(1) },
		},
		Final: func() error {
			return all(w.noTwins(),
				holds(b.admitted == 1, "the enforced limit found no room"),
				holds(b.inUse() == 1, "b: %d inside", b.inUse()))
		},
	})
	require.Zero(t, w.tab.slot(0).tag.Load())
}
