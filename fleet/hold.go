package fleet

import (
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// hold is an in-flight limit per key. A key in its first instants may use the
// instance's part of the limit without asking; one that lasts longer is held in
// the fleet's ledger, and may use what the ledger leases to this instance. A
// strict one may use nothing but that.
type hold struct{ *limit }

// part is what an instance may use of a key without a lease.
func (l *limit) part() int64 {
	if l.strict() {
		return 0
	}
	return max(1, l.rule.Max()/int64(l.f.instances()))
}

// allowed is how many may be in flight here for the entry.
func (l hold) allowed(e *entry, now int64) int64 {
	leased, until := int64(e.Inc.Load()), e.When.Load()
	switch {
	case until == 0:
		return l.part()
	case now <= until:
		return leased
	}
	switch l.stale() { // the lease has run out: the fleet does not answer
	case engine.StaleOpen:
		return l.rule.Max()
	case engine.StaleClosed:
		return 0
	}
	return min(leased, max(1, l.rule.Max()/int64(l.f.instances())))
}

func (l hold) step(e *entry, i uint32, w uint64, now, cost int64) engine.SharedStep {
	n, most := bucket.InUse(w), l.allowed(e, now)
	s := engine.SharedStep{Remaining: max(0, most-n), Entry: ref(i, w)}
	if n+cost > most {
		s.Reason, s.RetryAfter = engine.Full, l.retry()
		if until := e.When.Load(); l.stale() == engine.StaleClosed && until != 0 && now > until {
			s.Reason = engine.Closed
		}
	}
	return s
}

func (l hold) retry() time.Duration {
	if l.cfg.RetryAfter == 0 {
		return time.Second
	}
	return l.cfg.RetryAfter
}

func (l hold) unknown(cost int64) engine.SharedStep {
	if p := l.part(); p < cost {
		return engine.SharedStep{Reason: engine.Full, RetryAfter: l.retry(), Remaining: p}
	}
	return engine.SharedStep{Remaining: l.part()}
}

// Peek implements engine.Shared.
func (l hold) Peek(k key.Key, now, cost int64) engine.SharedStep {
	if s, ok := trivial(cost, l.rule.Max()); ok {
		return s
	}
	i, w, ok := l.t.Find(k, l.id)
	if !ok {
		return l.unknown(cost)
	}
	return l.step(&l.t.Entries[i], i, w, now, cost)
}

// Take implements engine.Shared.
func (l hold) Take(k key.Key, now, cost int64) (engine.SharedStep, engine.Handle) {
	if s, ok := trivial(cost, l.rule.Max()); ok {
		return s, engine.Handle{}
	}
	for {
		i, w, ok := l.t.Find(k, l.id)
		if !ok {
			if s := l.unknown(cost); s.Reason != engine.Admitted {
				return s, engine.Handle{}
			}
			if _, ok = l.enter(k); !ok {
				l.overflowed.Add(1)
				if l.cfg.Overflow == engine.OverflowOpen {
					return engine.SharedStep{}, engine.Handle{}
				}
				return engine.SharedStep{Reason: engine.Closed, RetryAfter: retryClosed}, engine.Handle{}
			}
			continue
		}
		e := &l.t.Entries[i]
		// Above its own part an instance lives on its lease, whose end is read off
		// the true time: a process that was stopped must not go on with it.
		if bucket.InUse(w)+cost > l.part() {
			now = l.f.host.Now()
		}
		s := l.step(e, i, w, now, cost)
		if s.Reason != engine.Admitted {
			return s, engine.Handle{}
		}
		if next := w + uint64(cost); e.Word.CompareAndSwap(w, next) {
			e.Spent(w, cost)
			l.asked(e, i, now, cost)
			s.Remaining -= cost
			return s, engine.Handle{ID: uint64(i+1)<<40 | bucket.Life(w), Cost: cost}
		}
	}
}

// FitsKnown implements engine.KnownTaker.
func (l hold) FitsKnown(k key.Key, now, cost int64) bool {
	i, w, ok := l.t.Find(k, l.id)
	return ok && bucket.InUse(w)+cost <= l.part() && l.step(&l.t.Entries[i], i, w, now, cost).Reason == engine.Admitted
}

// TakeKnown implements engine.KnownTaker. What goes beyond the instance's own
// part needs the true time, and is left to Take.
func (l hold) TakeKnown(k key.Key, now, cost int64) (id, done, units uint64, left int64, ok bool) {
	i, w, ok := l.t.Find(k, l.id)
	if !ok || bucket.InUse(w)+cost > l.part() {
		return 0, 0, 0, 0, false
	}
	e := &l.t.Entries[i]
	left = l.allowed(e, now) - bucket.InUse(w) - cost
	if left < 0 || !e.Word.CompareAndSwap(w, w+uint64(cost)) {
		return 0, 0, 0, 0, false
	}
	e.Spent(w, cost)
	l.asked(e, i, now, cost)
	return uint64(i+1)<<40 | bucket.Life(w), 0, 0, left, true
}

func (l hold) enter(k key.Key) (i uint32, ok bool) {
	i, _, ok = l.t.enter(k, l.id, l.f.host.Now(), func(prev uint64) uint64 { return l.rule.Fresh(prev, 0) })
	return i, ok
}

// Undo implements engine.Shared.
func (l hold) Undo(h engine.Handle, _ int64) { l.Done(h.ID, h.Cost) }

// Done implements engine.Shared.
func (l hold) Done(id uint64, cost int64) {
	if id == 0 {
		return
	}
	e := &l.t.Entries[id>>40-1]
	for {
		w := e.Word.Load()
		if bucket.Life(w) != id&(1<<40-1) || bucket.IsFrozen(w) {
			return
		}
		if e.Word.CompareAndSwap(w, l.rule.Undo(w, 0, 0, cost)) {
			return
		}
	}
}

// Refused implements engine.Shared.
func (l hold) Refused(k key.Key, s engine.SharedStep, now, cost int64) {
	if s.Reason == engine.NeverFits {
		return
	}
	e, i, ok := l.t.deref(s.Entry)
	if !ok {
		if !l.strict() {
			return
		}
		if i, ok = l.enter(k); !ok {
			l.overflowed.Add(1)
			return
		}
		e = &l.t.Entries[i]
	}
	l.refused(e, i, now, cost)
}
