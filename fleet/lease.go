package fleet

import (
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// lease is a limit that spends only what was leased before: a strict token
// bucket or a calendar quota. Its word is [version 8 | window 16 | tokens 40]:
// the tokens in hand, of the window they were leased in. A token bucket has one
// window for ever.
type lease struct{ *limit }

const (
	tokenBits = 40
	tokenMask = 1<<tokenBits - 1
	// States in an entry's inc.
	dry      = 1 // the fleet has no more to lease in this window
	unbarred = 2 // cut off, and open: everything passes
)

// tokens returns what is in hand in the window.
func tokens(w, window uint64) int64 {
	if (w&bucket.Payload)>>tokenBits != window&0xffff {
		return 0
	}
	return int64(w & tokenMask)
}

// hand returns the word with n tokens of the window in hand.
func hand(w, window uint64, n int64) uint64 {
	return w&^uint64(bucket.Payload) | (window&0xffff)<<tokenBits | uint64(min(max(n, 0), tokenMask-1))
}

// window is the number of the window that now lies in.
func (l *limit) window(now int64) uint64 {
	if l.cfg.Kind == engine.Quota {
		return l.rule.At(now)
	}
	return 0
}

// windowEnd is how long the window lasts from now on.
func (l *limit) windowEnd(now int64) int64 {
	if l.cfg.Kind != engine.Quota {
		return 0
	}
	at := l.rule.At(now)
	full, _ := l.rule.Charge(l.rule.Fresh(0, at), at, l.rule.Max())
	return l.rule.Wait(full, at, now, 1)
}

func (l lease) step(e *entry, i uint32, w, win uint64, now, cost int64) (s engine.SharedStep) {
	s = engine.SharedStep{Remaining: tokens(w, win), Entry: ref(i, w)}
	if s.Remaining >= cost {
		return s
	}
	switch st := e.Inc.Load(); {
	case st == unbarred:
	case st == shut:
		s.Reason, s.RetryAfter = engine.Closed, retryClosed
	case st == dry && (w&bucket.Payload)>>tokenBits == win&0xffff:
		s.Reason, s.RetryAfter = engine.Limited, time.Duration(max(l.windowEnd(now), 2*l.period))
	default: // the next lease
		s.Reason, s.RetryAfter = engine.Limited, time.Duration(2*l.period)
	}
	return s
}

// unknown is the answer to a key without an entry.
func (l lease) unknown(k key.Key) engine.SharedStep {
	if f := l.f; f.down(l.laneOf(k)) {
		switch l.stale() {
		case engine.StaleOpen:
			return engine.SharedStep{Remaining: l.rule.Max()}
		case engine.StaleClosed:
			return engine.SharedStep{Reason: engine.Closed, RetryAfter: retryClosed}
		}
	}
	return engine.SharedStep{Reason: engine.Limited, RetryAfter: time.Duration(2 * l.period)}
}

// Peek implements engine.Shared.
func (l lease) Peek(k key.Key, now, cost int64) engine.SharedStep {
	if s, ok := trivial(cost, l.rule.Max()); ok {
		return s
	}
	i, w, ok := l.t.Find(k, l.id)
	if !ok {
		return l.unknown(k)
	}
	return l.step(&l.t.Entries[i], i, w, l.window(now), now, cost)
}

// Take implements engine.Shared.
func (l lease) Take(k key.Key, now, cost int64) (engine.SharedStep, engine.Handle) {
	if s, ok := trivial(cost, l.rule.Max()); ok {
		return s, engine.Handle{}
	}
	win := l.window(now)
	for {
		i, w, ok := l.t.Find(k, l.id)
		if !ok {
			return l.unknown(k), engine.Handle{}
		}
		e := &l.t.Entries[i]
		s := l.step(e, i, w, win, now, cost)
		if s.Reason != engine.Admitted {
			return s, engine.Handle{}
		}
		next := hand(w, win, s.Remaining-cost)
		if e.Word.CompareAndSwap(w, next) {
			e.Spent(w, cost)
			l.asked(e, i, now, cost)
			s.Remaining = tokens(next, win)
			return s, engine.Handle{ID: ref(i, w), Done: win, Units: uint64(min(cost, tokens(w, win))), Cost: cost}
		}
	}
}

// Undo implements engine.Shared: the tokens come back into the hand, if their
// window is not over.
func (l lease) Undo(h engine.Handle, _ int64) {
	e, _, ok := l.t.deref(h.ID)
	if !ok {
		return
	}
	for {
		w := e.Word.Load()
		if w>>56 != h.ID&0xff || bucket.IsFrozen(w) {
			return
		}
		next := w
		if (w&bucket.Payload)>>tokenBits == h.Done&0xffff {
			next = hand(w, h.Done, tokens(w, h.Done)+int64(h.Units))
		}
		if e.Word.CompareAndSwap(w, next) {
			e.Spent(w, -h.Cost)
			return
		}
	}
}

// Refused implements engine.Shared. A key that has no entry gets one: that it
// is asked for is what the lease is asked for by.
func (l lease) Refused(k key.Key, s engine.SharedStep, now, cost int64) {
	if s.Reason == engine.NeverFits {
		return
	}
	e, i, ok := l.t.deref(s.Entry)
	if !ok {
		at := l.f.host.Now()
		i, _, ok = l.t.enter(k, l.id, at, func(prev uint64) uint64 { return hand(prev, l.window(at), 0) })
		if !ok {
			l.overflowed.Add(1)
			return
		}
		e = &l.t.Entries[i]
	}
	l.refused(e, i, now, cost)
}

// Done implements engine.Shared.
func (lease) Done(uint64, int64) {}
