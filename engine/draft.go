package engine

import (
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// draft is a ticket in the making: what a decision notes on its way.
type draft struct {
	limit *limit // see Ticket
	left  int64

	open bool // admitted
	why  why
	door uint8 // [lane 6 | what is held of the gate 2]
	n    uint8 // holds
	cell uint8 // of the sample of open tickets, plus one

	// Who is refused holds nothing: there the first word is how long to wait, in ns.
	holds [few]hold
	more  *record // holds what there is no room for here
}

// What is held of the gate.
const (
	gateBits     = 2
	gateMask     = 1<<gateBits - 1
	gateOther    = 1
	gateCritical = 2
)

// keep notes what a charged claim has to give back.
func (e *Engine) keep(t *draft, f *frame, s *step) {
	h := hold{slot: s.Slot, limit: s.l.id}
	switch {
	case s.l.shared != nil:
		h.kind, h.word, h.slot = holdShared, f.sync(s).handle.ID, uint32(s.Cost)
	case s.Slot == shard.None:
		return
	case s.l.kind == InFlight:
		h.kind, h.word = holdFlight, bucket.FlightPart(s.Word, s.Cost)
	case s.l.kind == Quota:
		h.kind, h.word = holdQuota, bucket.QuotaPart(s.Word, s.Cost)
	default:
		h.kind, h.word = holdEstimate, bucket.HoldPart(s.Word, s.Cost)
	}
	e.add(t, h)
	if h.kind == holdQuota || h.kind == holdEstimate {
		e.add(t, hold{kind: holdHash, word: s.H})
	}
}

// add notes one hold more.
func (e *Engine) add(t *draft, h hold) {
	if t.n < few {
		t.holds[t.n] = h
	} else {
		if t.more == nil {
			t.more = e.takeRecord(e.lane(t.lane()))
		}
		t.more.holds[t.n] = h
	}
	t.n++
}

// lane is the one of the counters, of the gate's places and of idle records.
func (t *draft) lane() uint8 { return t.door >> gateBits }

// tighten makes the claim on the limit the one that the decision tells of, if it
// is the tightest so far.
func (t *draft) tighten(left int64, l *limit) {
	if t.limit.id == 0 || left < t.left || left == t.left && l.id < t.limit.id {
		t.left, t.limit = left, l
	}
}

// refuse makes the ticket that of a refused request.
func (t *draft) refuse(r Reason, l Layer, wait time.Duration) {
	t.why, t.holds[0].word = because(r, l), uint64(wait)
}

// ticket is what the draft has become. It takes a record for what does not fit into a
// ticket.
func (e *Engine) ticket(t *draft) Ticket {
	recorded := t.open && (t.n > 1 || t.cell != 0)
	if t.more != nil && !recorded { // what was noted there has been given back
		e.leaveRecord(e.lane(t.lane()), t.more)
	}
	h := &t.holds[0]
	switch {
	case recorded:
		return e.recorded(t)
	case !t.open:
		return Ticket{limit: t.limit, left: t.left, word: h.word, state: state{flags: uint32(t.why) << limitShift}}
	}
	return Ticket{limit: t.limit, left: t.left, word: h.word, state: state{
		flags: ticketOpen | uint32(t.door)<<doorShift | uint32(h.kind)<<kindShift | uint32(h.limit)<<limitShift, slot: h.slot,
	}}
}

// recorded is ticket for what needs a record.
func (e *Engine) recorded(t *draft) Ticket {
	r := t.more
	if r == nil {
		r = e.takeRecord(e.lane(t.lane()))
	}
	copy(r.holds[:], t.holds[:])
	r.n, r.cell = t.n, t.cell
	return Ticket{limit: t.limit, left: t.left, word: r.life.Load(), state: state{
		flags: ticketOpen | uint32(t.door)<<doorShift | uint32(holdRecord)<<kindShift, slot: r.id,
	}}
}
