package fleet

import (
	"math/bits"
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
	"github.com/weir-go/weir/shard"
)

// share is a token bucket that an instance spends by its share: the word is the
// bucket's level for the whole fleet as far as it is known here, and every
// token is charged inc units, as if the other instances spent in proportion.
type share struct{ *limit }

// units is what a request is charged. One that fits a full bucket fits it
// whatever the share.
func (l *limit) units(inc uint64, cost int64) uint64 {
	hi, lo := bits.Mul64(inc, uint64(cost))
	if hi != 0 {
		return l.rule.Full()
	}
	return min(lo, l.rule.Full())
}

func (l share) limited(w, at uint64, now int64, inc, units uint64, i uint32) engine.SharedStep {
	if inc == shut {
		return engine.SharedStep{Reason: engine.Closed, RetryAfter: retryClosed, Entry: ref(i, w)}
	}
	return engine.SharedStep{
		Reason:     engine.Limited,
		RetryAfter: time.Duration(max(1, l.rule.WaitUnits(w, at, now, units))),
		Remaining:  l.left(w, at, inc),
		Entry:      ref(i, w),
	}
}

// left is how many more tokens this instance would admit now.
func (l share) left(w, at, inc uint64) int64 {
	d := l.rule.Debt(w, at)
	if inc == shut || d >= l.rule.Full() {
		return 0
	}
	return int64((l.rule.Full() - d) / inc)
}

// Peek implements engine.Shared.
func (l share) Peek(k key.Key, now, cost int64) engine.SharedStep {
	if s, ok := trivial(cost, l.rule.Max()); ok {
		return s
	}
	at := l.rule.At(now)
	i, w, ok := l.t.Find(k, l.id)
	if !ok {
		inc := l.first(l.laneOf(k))
		if inc == shut {
			return engine.SharedStep{Reason: engine.Closed, RetryAfter: retryClosed}
		}
		return engine.SharedStep{Remaining: l.left(at, at, inc)}
	}
	inc := l.t.Entries[i].Inc.Load()
	units := l.units(inc, cost)
	if _, ok := l.rule.TakeUnits(w, at, units); !ok || inc == shut {
		return l.limited(w, at, now, inc, units, i)
	}
	return engine.SharedStep{Remaining: l.left(w, at, inc), Entry: ref(i, w)}
}

// Take implements engine.Shared.
func (l share) Take(k key.Key, now, cost int64) (engine.SharedStep, engine.Handle) {
	if s, ok := trivial(cost, l.rule.Max()); ok {
		return s, engine.Handle{}
	}
	i, w, ok := l.t.Find(k, l.id)
	if !ok {
		return l.takeFirst(k, cost)
	}
	return l.takeAt(k, l.id, i, w, now, cost)
}

// Entries implements engine.Entered.
func (l share) Entries() (*shard.Wide, uint32) { return &l.t.Wide, l.id }

// Asked implements engine.Entered.
func (l share) Asked(i uint32, now int64) { l.f.mark(&l.t.Entries[i], i, now) }

// FitsKnown implements engine.KnownTaker.
func (l share) FitsKnown(k key.Key, now, cost int64) bool {
	i, w, ok := l.t.Find(k, l.id)
	if !ok {
		return false
	}
	inc := l.t.Entries[i].Inc.Load()
	_, ok = l.rule.TakeUnits(w, l.rule.TokenAt(now), l.units(inc, cost))
	return ok && inc != shut
}

// TakeKnown implements engine.KnownTaker.
func (l share) TakeKnown(k key.Key, now, cost int64) (id, done, units uint64, left int64, ok bool) {
	i, w, ok := l.t.Find(k, l.id)
	if !ok {
		return 0, 0, 0, 0, false
	}
	e := &l.t.Entries[i]
	at, inc := l.rule.TokenAt(now), e.Inc.Load()
	units = l.units(inc, cost)
	next, ok := l.rule.TakeUnits(w, at, units)
	if !ok || inc == shut || !e.Word.CompareAndSwap(w, next) {
		return 0, 0, 0, 0, false
	}
	e.Spent(w, cost)
	l.asked(e, i, now, cost)
	return ref(i, w), next, units, l.left(next, at, inc), true
}

// takeAt charges the entry of k, whose word was w.
func (l share) takeAt(k key.Key, id, i uint32, w uint64, now, cost int64) (engine.SharedStep, engine.Handle) {
	at := l.rule.At(now)
	e := &l.t.Entries[i]
	for {
		inc := e.Inc.Load()
		units := l.units(inc, cost)
		next, ok := l.rule.TakeUnits(w, at, units)
		if !ok || inc == shut {
			return l.limited(w, at, now, inc, units, i), engine.Handle{}
		}
		if e.Word.CompareAndSwap(w, next) {
			e.Spent(w, cost)
			l.asked(e, i, now, cost)
			return engine.SharedStep{Remaining: l.left(next, at, inc), Entry: ref(i, w)},
				engine.Handle{ID: ref(i, w), Done: next, Units: units, Cost: cost}
		}
		if w, ok = e.Read(k, id); !ok {
			return l.takeFirst(k, cost)
		}
	}
}

// takeFirst is the way of a key that has no entry. The time is read anew: what
// was there before may have been dropped by a later one.
func (l share) takeFirst(k key.Key, cost int64) (engine.SharedStep, engine.Handle) {
	for {
		now := l.f.host.Now()
		i, _, ok := l.t.enter(k, l.id, now, func(prev uint64) uint64 {
			return l.rule.Fresh(prev, l.rule.At(now))
		})
		if !ok {
			l.overflowed.Add(1)
			switch l.cfg.Overflow {
			case engine.OverflowOpen:
				return engine.SharedStep{}, engine.Handle{}
			case engine.OverflowClosed:
				return engine.SharedStep{Reason: engine.Closed, RetryAfter: retryClosed}, engine.Handle{}
			}
			e := &l.t.Entries[l.spare]
			return l.takeAt(key.Key{}, e.Limit.Load(), l.spare, e.Word.Load(), now, cost)
		}
		if w, ok := l.t.Entries[i].Read(k, l.id); ok {
			return l.takeAt(k, l.id, i, w, now, cost)
		}
	}
}

// Undo implements engine.Shared.
func (l share) Undo(h engine.Handle, _ int64) {
	e, _, ok := l.t.deref(h.ID)
	if !ok {
		return
	}
	for {
		w := e.Word.Load()
		at := l.rule.At(l.f.host.Now()) // after the word: what has drained since the charge is not given back
		if (w^h.Done)&^uint64(bucket.Payload) != 0 || bucket.IsFrozen(w) {
			return
		}
		if e.Word.CompareAndSwap(w, l.rule.UndoUnits(w, at, h.Done, h.Units)) {
			e.Spent(w, -h.Cost)
			return
		}
	}
}

// Refused implements engine.Shared.
func (l share) Refused(_ key.Key, s engine.SharedStep, now, cost int64) {
	if e, i, ok := l.t.deref(s.Entry); ok && s.Reason != engine.NeverFits {
		l.refused(e, i, now, cost)
	}
}

// Done implements engine.Shared.
func (share) Done(uint64, int64) {}

// retryClosed is what a limit tells that is closed until the fleet is back.
const retryClosed = time.Second

// trivial answers what needs no state.
func trivial(cost, most int64) (engine.SharedStep, bool) {
	switch {
	case cost == 0:
		return engine.SharedStep{Remaining: most}, true
	case cost < 0 || cost > most:
		return engine.SharedStep{Reason: engine.NeverFits, RetryAfter: -1}, true
	}
	return engine.SharedStep{}, false
}
