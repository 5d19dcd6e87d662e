package engine

import (
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// Ticket is the answer to Admit. It must not be copied once it is used; keep it
// where it is and call its methods there.
//
// It is no more than Go returns in registers, without the detour over memory: four
// fields of four words.
type Ticket struct {
	// limit is whose refusal it is, or the one with the least left; the plan's none,
	// where there is no such limit. left is what is left of it.
	limit *limit
	left  int64
	// word is that of the only hold, or the life of the record; of a refused ticket,
	// how long to wait, in ns.
	word  uint64
	state state
}

// state is the rest of a ticket.
type state struct {
	_ noCopy
	// flags are [limit of the only hold 16 | its kind 5 | door 8 | done, units, open 3];
	// of a refused ticket [why 16 | 0]. Atomic.
	flags uint32
	slot  uint32 // of the only hold, or the number of the record
}

// noCopy makes vet complain about copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// What a ticket is, together. None of it: refused, as the zero ticket is.
const (
	ticketOpen  = 1 << iota // admitted
	ticketUnits             // and left is in units of a token bucket, to be counted when somebody asks
	ticketDone              // and is done
	ticketLone  = ticketOpen | ticketUnits
)

// Where the rest of the flags is.
const (
	doorShift  = 3
	kindShift  = doorShift + 8
	limitShift = 16
	kindMask   = 1<<(limitShift-kindShift) - 1
)

// why is [reason 4 | layer 4] of a decision.
type why uint8

func because(r Reason, l Layer) why { return why(r)<<4 | why(l) }

// hold is what Done gives back for one claim, or Settle corrects.
type hold struct {
	// word is the slot's, with what the claim has taken in place of the sum; of a
	// synced limit, the handle's.
	word   uint64
	slot   uint32 // of a synced limit, what the claim has taken
	limit  LimitID
	kind   holdKind
	settle bool // settled already
}

type holdKind uint8

const (
	holdNone     holdKind = iota
	holdFlight            // requests in flight
	holdEstimate          // an estimate beside a token bucket
	holdQuota             // an estimate charged to a quota
	holdShared            // requests in flight of a synced limit
	holdHash              // no hold: the key of the estimate before it
	holdSince             // no hold: when the request was admitted
	holdRecord            // in a record
)

// kindOf is the kind of the only hold by a ticket's flags.
func kindOf(flags uint32) holdKind { return holdKind(flags >> kindShift & kindMask) }

// maxHolds is how many holds a ticket can have: estimates take two, and a request
// that is timed one more.
const maxHolds = 2*MaxClaims + 1

// OK reports whether the request was admitted. The zero Ticket was not.
func (t *Ticket) OK() bool { return atomic.LoadUint32(&t.state.flags)&ticketOpen != 0 }

// Decision returns the answer in numbers.
func (t *Ticket) Decision() Decision {
	d := Decision{Remaining: t.left}
	if t.limit != nil {
		d.Limit = t.limit.id
	}
	switch s := atomic.LoadUint32(&t.state.flags); {
	case s&ticketOpen == 0:
		w := why(s >> limitShift)
		d.Reason, d.Layer, d.RetryAfter = Reason(w>>4), Layer(w&0xf), time.Duration(t.word)
	case s&ticketUnits != 0:
		d.Remaining = t.limit.tokens(t.left)
	}
	return d
}

// Done gives back everything the request holds. It is to be called once, when
// the work has really ended; on a refused ticket it does nothing, and a second
// call changes nothing and is counted. Where the ticket holds something, that is
// so from whatever goroutines the calls come; one that holds nothing is not for
// concurrent use. Done works after Close, after Swap and after the removal of a
// limit.
func (t *Ticket) Done(o Outcome) {
	if atomic.LoadUint32(&t.state.flags) == ticketLone { // it holds nothing: no need for the dearest instruction
		t.state.flags = ticketLone | ticketDone
		return
	}
	t.giveBack(o)
}

// giveBack is Done for a ticket that may hold something, or is not to be done.
func (t *Ticket) giveBack(o Outcome) {
	s := atomic.LoadUint32(&t.state.flags)
	if s&ticketOpen == 0 {
		return
	}
	e := t.limit.e
	if s&ticketDone != 0 || !atomic.CompareAndSwapUint32(&t.state.flags, s, s|ticketDone) {
		e.misuse.doubleDone.Add(1)
		return
	}
	// The ticket stays as it is: another call to Done may be reading it.
	door, kind := uint8(s>>doorShift), kindOf(s)
	switch kind {
	case holdNone:
	case holdFlight: // the common one, in line
		e.table.Release(t.state.slot, bucket.Life(t.word), bucket.InUse(t.word))
	case holdRecord:
		r := e.record(t.state.slot)
		if !r.life.CompareAndSwap(t.word, t.word+1) { // the ticket was copied, and the copy is done
			e.misuse.doubleDone.Add(1)
			return
		}
		e.giveBackAll(r.holds[:r.n], o)
		if r.cell != 0 {
			e.open[r.cell-1].limit.Store(0)
		}
		e.leaveRecord(e.lane(door>>gateBits), r)
	default:
		only := [1]hold{{word: t.word, slot: t.state.slot, limit: LimitID(s >> limitShift), kind: kind}}
		e.giveBackAll(only[:], o)
	}
	if door&gateMask != 0 {
		e.gate.LeaveBy(&e.lane(door>>gateBits).places, door&gateMask == gateCritical)
	}
}

// Settle names the real cost, 0 or more, of the claim on a post-paid limit,
// before Done; without it Done takes the estimate for the truth. What was used
// is charged even if it is more than the estimate or than the limit has left:
// the key then owes. A second Settle of the same claim, a negative cost, and a
// limit that the ticket has no post-paid claim on change nothing and are
// counted. Not for concurrent use with Done.
func (t *Ticket) Settle(l LimitID, actual int64) {
	s := atomic.LoadUint32(&t.state.flags)
	if s&ticketOpen == 0 {
		return
	}
	e := t.limit.e
	if h, key := e.estimate(t, s, l); h != nil && actual >= 0 {
		h.settle = true
		e.settle(h, key, actual)
		return
	}
	e.misuse.settle.Add(1)
}

// estimate returns the hold of a claim that is still to be settled, and its key's
// hash, or nil. An estimate takes two cells, so it is in a record.
func (e *Engine) estimate(t *Ticket, s uint32, l LimitID) (h *hold, key uint64) {
	if s&ticketDone != 0 || kindOf(s) != holdRecord {
		return nil, 0
	}
	r := e.record(t.state.slot)
	if r.life.Load() != t.word {
		return nil, 0
	}
	for i := range r.holds[:r.n] {
		if h := &r.holds[i]; h.limit == l && !h.settle && (h.kind == holdEstimate || h.kind == holdQuota) {
			return h, r.holds[i+1].word
		}
	}
	return nil, 0
}

// settle charges the key what was used and lets go of the estimate, in that order:
// in between both count, so nobody is admitted on room that is not there.
func (e *Engine) settle(h *hold, key uint64, actual int64) {
	e.quietly(func() {
		l := e.plan.Load().limits[h.limit]
		switch h.kind {
		case holdQuota:
			if l.live && l.kind == Quota {
				e.settleQuota(l, h, key, actual)
			}
		case holdEstimate:
			if l.live && l.charge != nil && actual > 0 {
				c := shard.Claim{H: key, Cost: actual, Rule: l.charge, ID: l.bucket}
				e.table.Charge(&c)
			}
		}
	})
	if h.kind == holdEstimate {
		e.table.ReleaseHold(h.slot, uint8(h.word>>56), bucket.Held(h.word))
	}
}

// settleQuota corrects the estimate: what was too much goes back to the window
// it was taken from, what was too little is charged to the one that is now.
func (e *Engine) settleQuota(l *limit, h *hold, key uint64, actual int64) {
	estimate := bucket.UsedIn(h.word)
	c := shard.Claim{H: key, Rule: &l.rule, ID: l.table, Slot: h.slot, Word: h.word}
	switch {
	case actual < estimate:
		c.Cost = estimate - actual
		e.table.Undo(&c)
	case actual > estimate:
		c.Cost = actual - estimate
		e.table.Charge(&c)
	}
}

// giveBackAll gives back what a ticket holds, and lets an adaptive capacity learn of
// the request.
func (e *Engine) giveBackAll(holds []hold, o Outcome) {
	if since := &holds[len(holds)-1]; since.kind == holdSince && e.adaptive.Load() != nil {
		e.quietly(func() { e.observe(int64(since.word), o) })
	}
	for i := range holds {
		e.giveBack(holds, i)
	}
}

// giveBack gives back one hold.
func (e *Engine) giveBack(holds []hold, i int) {
	h := &holds[i]
	switch h.kind {
	case holdFlight:
		e.table.Release(h.slot, bucket.Life(h.word), bucket.InUse(h.word))
	case holdEstimate:
		if !h.settle { // the estimate is taken for the truth
			e.settle(h, holds[i+1].word, bucket.Held(h.word))
		}
	case holdShared:
		e.quietly(func() {
			if l := e.plan.Load().limits[h.limit]; l.shared != nil {
				l.shared.Done(h.word, int64(h.slot))
			}
		})
	}
}

// openTicket is one cell of the sample of open tickets.
type openTicket struct {
	limit atomic.Uint32
	since atomic.Int64
}

// sampleEvery is the share of tickets that are watched for leaks: one in.
const sampleEvery = 64

// sample notes the ticket as open, for one in sampleEvery of those that hold
// something, so that one that is never given back shows in the Snapshot.
func (e *Engine) sample(t *draft) {
	for range 4 {
		i := e.nextCell.Add(1) % uint32(len(e.open))
		if c := &e.open[i]; c.limit.CompareAndSwap(0, uint32(t.holds[0].limit)) {
			c.since.Store(e.time.published.Load())
			t.cell = uint8(i) + 1
			return
		}
	}
}
