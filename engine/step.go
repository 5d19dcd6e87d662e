package engine

import (
	"math"
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/key"
	"github.com/weir-go/weir/shard"
)

// step is one claim on its way through a decision.
type step struct {
	shard.Claim
	l       *limit
	key     key.Key
	act     action
	index   int // in Request.Claims
	refused bool
	never   bool // waiting does not help: block, or a cost above the limit
	noRoom  bool // a new key that the table has no place for
	done    bool // charged
	shared  SharedStep
	handle  Handle
}

// look decides the claim as of now and changes nothing.
func (e *Engine) look(s *step, now int64) {
	switch {
	case s.never:
	case s.l.shared != nil:
		s.shared = s.l.shared.Peek(s.key, now, s.Cost)
		s.refused = s.shared.Reason != Admitted
	default:
		s.refused = !e.table.Look(&s.Claim, now)
	}
}

// commit charges the claim, which look found possible.
func (e *Engine) commit(s *step, now int64) bool {
	if s.l.shared != nil {
		s.shared, s.handle = s.l.shared.Take(s.key, now, s.Cost)
		s.refused = s.shared.Reason != Admitted
		return !s.refused
	}
	if e.table.Commit(&s.Claim) {
		return true
	}
	return e.take(s, now)
}

// take is the way of a new key and of a lost race.
func (e *Engine) take(s *step, now int64) bool {
	r := e.table.Take(&s.Claim, now, s.l.overflow == OverflowShared)
	if s.Overflowed || r == shard.NoRoom {
		s.l.ctl.tally(e.stripeMask).overflow.Add(1)
	}
	switch r {
	case shard.Taken:
		return true
	case shard.NoRoom:
		if s.l.overflow == OverflowOpen {
			s.Slot = shard.None // nothing to give back
			return true
		}
		s.noRoom = true
	}
	s.refused = true
	return false
}

// undo takes back what commit charged.
func (e *Engine) undo(s *step) {
	switch {
	case s.l.shared != nil:
		s.l.shared.Undo(s.handle, e.time.Now())
	case s.Slot != shard.None:
		e.table.Undo(&s.Claim)
	}
}

// verdict is the decision that a refusing claim makes as of now.
func (e *Engine) verdict(s *step, now int64) Decision {
	d := Decision{Reason: s.l.reason(), Layer: s.l.layer, Limit: s.l.id}
	switch {
	case s.never:
		d.RetryAfter = -1
		if s.l.kind != Block {
			d.Reason = NeverFits
		}
	case s.l.shared != nil:
		d.Reason, d.RetryAfter, d.Remaining = s.shared.Reason, s.shared.RetryAfter, s.shared.Remaining
	case s.noRoom:
		d.Reason, d.RetryAfter = Closed, s.l.retry
	case s.l.kind == InFlight:
		d.RetryAfter, d.Remaining = s.l.retry, s.Rule.Left(s.Word, 0)
	default:
		d.RetryAfter, d.Remaining = e.wait(s, now), e.left(s, now)
	}
	return d
}

// wait is how long until the claim can pass, at least 1 ns: it was refused.
func (e *Engine) wait(s *step, now int64) time.Duration {
	at := s.Rule.At(now)
	var w int64
	if s.Rule.Kind == bucket.Hold {
		w = s.Rule.WaitHold(s.Word, e.table.Beside(&s.Claim, at), at, now, s.Cost)
	} else {
		w = s.Rule.Wait(s.Word, at, now, s.Cost)
	}
	if w == math.MaxInt64 { // only as long as what is held stays held
		return s.l.retry
	}
	return time.Duration(max(w, 1))
}

// left is what remains of the claim's limit for its key.
func (e *Engine) left(s *step, now int64) int64 {
	if s.l.shared != nil {
		return s.shared.Remaining
	}
	if s.Slot == shard.None {
		return s.Rule.Max()
	}
	at := s.Rule.At(now)
	if s.Rule.Kind == bucket.Hold {
		return s.Rule.LeftHold(s.Word, e.table.Beside(&s.Claim, at), at)
	}
	return s.Rule.Left(s.Word, at)
}
