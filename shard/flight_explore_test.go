//go:build explore

package shard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/internal/explore"
)

// inUse is the count of the key's in-flight word.
func (a *acct) inUse() int64 {
	if s, w := a.tab.Find(a.h, a.ID); s != None {
		return bucket.InUse(w)
	}
	return 0
}

func (a *acct) release() bool {
	defer a.summary()
	ok := a.tab.Release(a.Claim.Slot, bucket.Life(a.Claim.Word), a.Claim.Cost)
	if ok {
		a.admitted -= a.Claim.Cost
	}
	return ok
}

// Places of two keys that take each other's slot: never more inside than the
// limit allows, and all given back at the end.
func TestExploreInFlight(t *testing.T) {
	for slots := 1; slots <= 2; slots++ {
		w := newWorld(t, slots)
		l := w.flight(1)
		var a, a2, b acct
		w.explore(explore.Scenario{
			Reset: func() { a, a2, b = l.of(0xa), l.of(0xa), l.of(0xb) },
			Threads: []func(){
				func() {
					if a.take(1) {
						a.release()
					}
				},
				func() { a2.take(1) },
				func() {
					if b.take(1) {
						b.release()
					}
				},
			},
			Step: func() error {
				return holds(a.admitted+a2.admitted <= 1, "inside: %d and %d", a.admitted, a2.admitted)
			},
			Final: func() error {
				return all(w.noTwins(),
					holds(a.inUse() == a2.admitted, "a: %d inside, the word says %d", a2.admitted, a.inUse()),
					holds(b.inUse() == b.admitted, "b: %d inside, the word says %d", b.admitted, b.inUse()))
			},
		})
	}
}

// A place that is given back once more, after its key's word has gone, does not
// touch the key that has the slot by then, nor a later life of the same key.
func TestExploreInFlightGivenBackTwice(t *testing.T) {
	w := newWorld(t, 1)
	l := w.flight(1)
	var a, b acct
	reused := false
	w.explore(explore.Scenario{
		Reset: func() { a, b = l.of(0xa), l.of(0xb) },
		Threads: []func(){
			func() {
				if a.take(1) {
					a.release()
					if a.release() {
						panic("given back twice")
					}
				}
			},
			func() { b.take(1) },
		},
		Final: func() error {
			reused = reused || a.Claim.Word != 0 && b.admitted == 1
			return holds(b.inUse() == b.admitted, "b: %d inside, the word says %d", b.admitted, b.inUse())
		},
	})
	require.True(t, reused)
}

// What undoes a place that was taken for a request which another limit refused
// is the same release.
func TestExploreInFlightUndo(t *testing.T) {
	w := newWorld(t, 1)
	l, tok := w.flight(2), w.token(1)
	var a, a2, b acct
	w.explore(explore.Scenario{
		Reset: func() { a, a2, b = l.of(0xa), l.of(0xa), tok.of(0xa) },
		Threads: []func(){
			func() {
				if a.take(1) {
					a.undo()
				}
			},
			func() {
				if a2.take(2) {
					a2.release()
				}
			},
			func() { b.take(1) },
		},
		Final: func() error {
			return all(w.noTwins(),
				holds(a.inUse() == 0, "%d inside", a.inUse()),
				holds(b.arrival() == b.admitted, "%d charged, %d admitted", b.arrival(), b.admitted))
		},
	})
}
