//go:build explore

package shard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/explore"
)

// Three first sights of one key: one of them makes the word.
func TestExploreOneBirth(t *testing.T) {
	w := newWorld(t, 2)
	l := w.token(1)
	var a [3]acct
	w.explore(explore.Scenario{
		Reset: func() { a = [3]acct{l.of(0xa), l.of(0xa), l.of(0xa)} },
		Threads: []func(){
			func() { a[0].take(1) },
			func() { a[1].take(1) },
			func() { a[2].take(1) },
		},
		Final: func() error {
			return all(w.noTwins(),
				holds(a[0].admitted+a[1].admitted+a[2].admitted == 1, "%d births", a[0].admitted+a[1].admitted+a[2].admitted))
		},
	})
}

// exploreReclaim runs a known key, whose word falls idle as time passes, against the
// first sight of another key that wants the slot, and time itself. There is one slot.
func (w *world) exploreReclaim(l limit, other func() acct) {
	var a, b acct
	w.explore(explore.Scenario{
		Reset: func() { a, b = l.of(0xa).quick(), other() },
		Threads: []func(){
			func() { a.take(1); a.take(1) },
			func() { b.take(1) },
			func() { w.now.Store(1); w.now.Store(2) },
		},
		Final: func() error {
			va, vb := a.arrival(), b.arrival()
			return all(w.noTwins(),
				holds(va >= 1+a.admitted, "a gift: %d admitted arrive at %d", a.admitted, va),
				holds(va <= 2+a.admitted, "a foreign charge: %d admitted arrive at %d", a.admitted, va),
				holds(vb >= b.admitted, "b gift: %d admitted arrive at %d", b.admitted, vb),
				holds(vb <= 2+b.admitted, "b foreign charge: %d admitted arrive at %d", b.admitted, vb))
		},
	})
}

func TestExploreReclaimAgainstAKnownKey(t *testing.T) {
	w := newWorld(t, 1)
	l := w.token(2)
	before := l.of(0xa)
	before.take(1) // arrives at 1: idle from tick 1 on
	w.exploreReclaim(l, func() acct { return l.of(0xb) })
}

// The same for a key that its home line has no room for, and that the express way
// has to go and find.
func TestExploreReclaimAgainstAKeyAwayFromHome(t *testing.T) {
	w := newWorldAway(t, 1, 1)
	l := w.token(2)
	before := l.of(0xa)
	before.take(1)
	require.EqualValues(t, slotsPerLine, before.Claim.Slot)
	w.exploreReclaim(l, func() acct { return l.of(0xb).quick() })
}

// The first sights of one key against each other and against another key that
// wants the slot of its idle word.
func TestExploreOneBirthWithReclaim(t *testing.T) {
	for slots := 1; slots <= 2; slots++ {
		w := newWorld(t, slots)
		l := w.token(1)
		old := l.of(0xa)
		old.take(1)
		old.undo() // the word is there and idle
		var a [2]acct
		var b acct
		w.explore(explore.Scenario{
			Reset: func() { a, b = [2]acct{l.of(0xa), l.of(0xa)}, l.of(0xb) },
			Threads: []func(){
				func() { a[0].take(1) },
				func() { a[1].take(1) },
				func() {
					if b.take(1) {
						b.undo()
					}
				},
			},
			Final: func() error {
				n := a[0].admitted + a[1].admitted
				return all(w.noTwins(),
					holds(n == 1 || slots == 1 && n == 0, "a: %d admitted", n),
					holds(a[0].arrival() == n, "a: %d admitted arrive at %d", n, a[0].arrival()),
					holds(b.arrival() == b.admitted, "b: %d admitted arrive at %d", b.admitted, b.arrival()))
			},
		})
	}
}

// Time stands still: what is undone is as if it had never been, for its own
// key and for all others, wherever the slot has gone meanwhile.
func TestExploreUndoWhileTimeStands(t *testing.T) {
	w := newWorld(t, 1)
	l := w.token(4)
	old := l.of(0xa)
	old.take(1)
	old.undo()
	var a, a2, b acct
	w.explore(explore.Scenario{
		Reset: func() { a, a2, b = l.of(0xa).quick(), l.of(0xa), l.of(0xb) },
		Threads: []func(){
			func() {
				if a.take(2) {
					a.undo()
				}
			},
			func() { a2.take(1) },
			func() {
				if b.take(1) {
					b.undo()
				}
			},
		},
		Final: func() error {
			return all(w.noTwins(),
				holds(a.arrival() == a.admitted+a2.admitted, "a: %d admitted arrive at %d", a.admitted+a2.admitted, a.arrival()),
				holds(b.arrival() == b.admitted, "b: %d admitted arrive at %d", b.admitted, b.arrival()))
		},
	})
}

// Time passes between a charge and its undo: the key is never better off than
// if the undone request had not come.
func TestExploreUndoWhileTimePasses(t *testing.T) {
	for _, start := range []int64{0, 2} {
		w := newWorld(t, 1)
		l := w.token(5)
		if start > 0 {
			old := l.of(0xa)
			old.take(start)
		}
		var a, a2, b acct
		w.explore(explore.Scenario{
			Reset: func() { a, a2, b = l.of(0xa), l.of(0xa), l.of(0xb) },
			Threads: []func(){
				func() {
					if a.take(3) {
						a.undo()
					}
				},
				func() { a2.take(1) },
				func() { w.now.Store(2); b.take(1); w.now.Store(4) },
			},
			Final: func() error {
				least := start
				if a2.admitted > 0 {
					least = max(start, a2.from) + a2.admitted
				}
				return all(w.noTwins(),
					holds(a.arrival() >= least, "a gift: arrives at %d, not %d", a.arrival(), least),
					holds(b.arrival() >= b.admitted, "b gift: arrives at %d", b.arrival()))
			},
		})
	}
}

// The word of another key between two loads of one's own tag must not refuse
// anybody: the first key was never in debt.
func TestExploreNobodyIsRefusedForAnother(t *testing.T) {
	w := newWorld(t, 1)
	l := w.token(2)
	old := l.of(0xa)
	old.take(1)
	old.undo()
	var a, a2, b acct
	w.explore(explore.Scenario{
		Reset: func() {
			a, a2, b = l.of(0xa), l.of(0xa), l.of(0xb)
			a2.other, b.other = &b, &a2
		},
		Threads: []func(){
			func() { a.take(1) },
			func() {
				for range 2 {
					if b.take(2) {
						b.undo()
					}
					if a2.take(1) {
						a2.undo()
					}
				}
			},
		},
		Final: func() error {
			return all(w.noTwins(),
				holds(a.Claim.Slot == None || a.refused == 0, "refused although the key owed 1 of 2 at most"))
		},
	})
}

// A charge is undone after its word has fallen idle and the slot has gone to
// another key: an earlier undo had lowered the word below what the late one
// would still have to give back.
func TestExploreALateUndoTouchesNobody(t *testing.T) {
	w := newWorld(t, 1)
	l := w.token(6)
	first, second := l.of(0xa), l.of(0xa)
	require.True(t, first.take(3))
	require.True(t, second.take(3))
	var a, a2, b acct
	w.explore(explore.Scenario{
		Reset: func() { a, a2, b = first, second, l.of(0xb) },
		Threads: []func(){
			func() { a.undo() },
			func() { a2.undo() },
			func() { w.now.Store(3); b.take(2) },
		},
		Final: func() error {
			return all(w.noTwins(),
				holds(b.admitted == 0 || b.arrival() == 5, "b: charged 2 at 3, arrives at %d", b.arrival()))
		},
	})
}
