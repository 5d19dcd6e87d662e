package engine

import (
	"math"
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// step is one claim on its way through a decision.
type step struct {
	shard.Claim
	l       *limit
	act     action
	index   uint8 // in Request.Claims
	refused bool
	never   bool // waiting does not help: block, or a cost above the limit or below 0
	noRoom  bool // a new key that the table has no place for
	done    bool // charged
}

// syncStep is what a step on a synced limit has besides.
type syncStep struct {
	SharedStep
	handle Handle
}

// frame is the memory of one decision, on the caller's stack.
type frame struct {
	req   *Request
	steps []step
	syncs []syncStep // by index in Request.Claims; only where limits are synced
	at    int        // the claim that is worked on, -1 for none: for whoever recovers
	class Class
	// decided: the decision was made, and did not panic.
	decided bool
	// silent: what is wrong with the request has been counted, or is not to be.
	silent bool
}

func (f *frame) sync(s *step) *syncStep { return &f.syncs[s.index] }

func (f *frame) claim(s *step) *Claim { return &f.req.Claims[s.index] }

// look decides the claim as of now and changes nothing.
func (e *Engine) look(f *frame, s *step, now int64) {
	switch {
	case s.never:
	case s.l.shared != nil:
		x := f.sync(s)
		x.SharedStep = s.l.shared.Peek(f.claim(s).Key, now, s.Cost)
		s.refused = x.Reason != Admitted
	default:
		s.refused = !e.table.Look(&s.Claim, now)
	}
}

// commit charges the claim, which look found possible.
func (e *Engine) commit(f *frame, s *step, now int64) bool {
	if s.l.shared != nil {
		x := f.sync(s)
		x.SharedStep, x.handle = s.l.shared.Take(f.claim(s).Key, now, s.Cost)
		s.refused = x.Reason != Admitted
		return !s.refused
	}
	return e.table.Commit(&s.Claim) || e.take(s, now)
}

// take is the way of a new key and of a lost race.
func (e *Engine) take(s *step, now int64) bool {
	r := e.table.Take(&s.Claim, now, s.l.overflow == OverflowShared)
	if s.Overflowed || r == shard.NoRoom {
		s.l.ctl.tally().overflow.Add(1)
	}
	switch r {
	case shard.Taken:
		return true
	case shard.NoRoom:
		if s.l.overflow == OverflowOpen {
			return true // uncharged: there is no slot to give back to
		}
		s.noRoom = true
	}
	s.refused = true
	return false
}

// undo takes back what commit charged.
func (e *Engine) undo(f *frame, s *step) {
	switch {
	case s.l.shared != nil:
		s.l.shared.Undo(f.sync(s).handle, e.time.Now())
	case s.Slot != shard.None:
		e.table.Undo(&s.Claim)
	}
}

// verdict is the decision that a refusing claim makes as of now.
func (e *Engine) verdict(f *frame, s *step, now int64) Decision {
	d := Decision{Reason: s.l.reason(), Layer: s.l.layer, Limit: s.l.id}
	switch {
	case s.never:
		d.RetryAfter = -1
		if s.l.kind != Block {
			d.Reason = NeverFits
		}
	case s.l.shared != nil:
		x := f.sync(s)
		d.Reason, d.RetryAfter, d.Remaining = x.Reason, x.RetryAfter, x.Remaining
	case s.noRoom:
		d.Reason, d.RetryAfter = Closed, s.l.retry
	case s.l.kind == InFlight:
		d.RetryAfter, d.Remaining = s.l.retry, s.Rule.Left(s.Word, 0)
	default:
		d.RetryAfter, d.Remaining = e.wait(s, now), e.left(f, s)
	}
	return d
}

// wait is how long until the claim can pass, at least 1 ns: it was refused.
func (e *Engine) wait(s *step, now int64) time.Duration {
	at := s.Rule.At(now)
	var w int64
	if s.Rule.Kind == bucket.Hold {
		w = s.Rule.WaitHold(s.Word, e.table.Beside(&s.Claim), at, now, s.Cost)
	} else {
		w = s.Rule.Wait(s.Word, at, now, s.Cost)
	}
	if w == math.MaxInt64 { // for as long as what is held stays held
		return s.l.retry
	}
	return time.Duration(max(w, 1))
}

// left is what remains of the claim's limit for its key. The word of a key that
// has none is that of one never seen; a hold without a word may stand beside a
// bucket that owes.
func (e *Engine) left(f *frame, s *step) int64 {
	switch {
	case s.l.shared != nil:
		return f.sync(s).Remaining
	case s.Rule.Kind == bucket.Token:
		return s.Rule.LeftToken(s.Word, s.At+s.l.slack)
	case s.Rule.Kind == bucket.Hold:
		return s.Rule.LeftHold(s.Word, e.table.Beside(&s.Claim), s.At+s.l.slack)
	}
	return s.Rule.Left(s.Word, s.At)
}
