package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// Ticket is the answer to Admit. It must not be copied once it is used; keep it
// where it is and call its methods there.
//
// It is a cache line long, since Admit fills it and its caller copies it whole.
type Ticket struct {
	_ noCopy

	// limit is whose refusal it is, or the one with the least left; the plan's none,
	// where there is no such limit. left is what is left of it.
	limit *limit
	left  int64

	state uint32 // of ticketOpen and so on; atomic
	why   why
	door  uint8 // [lane 6 | what it holds of the gate 2]
	n     uint8 // holds
	cell  uint8 // of the sample of open tickets, plus one

	// Who is refused holds nothing: there the first word is how long to wait, in ns.
	holds  [few]hold
	others *[maxHolds - few]hold
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

// why is [reason 4 | layer 4] of a decision.
type why uint8

func because(r Reason, l Layer) why { return why(r)<<4 | why(l) }

// What the ticket holds of the gate.
const (
	gateBits     = 2
	gateMask     = 1<<gateBits - 1
	gateOther    = 1
	gateCritical = 2
)

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
	holdFlight   holdKind = iota // requests in flight
	holdEstimate                 // an estimate beside a token bucket
	holdQuota                    // an estimate charged to a quota
	holdShared                   // requests in flight of a synced limit
	holdHash                     // no hold: the key of the estimate before it
	holdSince                    // no hold: when the request was admitted
)

// maxHolds is how many holds a ticket can have: estimates take two, and a request
// that is timed one more.
const maxHolds = 2*MaxClaims + 1

// spare keeps the room for tickets that hold more than a few claims.
var spare = sync.Pool{New: func() any { return new([maxHolds - few]hold) }}

// keep notes what a charged claim has to give back.
func (t *Ticket) keep(f *frame, s *step) {
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
	t.add(h)
	if h.kind == holdQuota || h.kind == holdEstimate {
		t.add(hold{kind: holdHash, word: s.H})
	}
}

// add notes one hold more.
func (t *Ticket) add(h hold) {
	if t.n >= few && t.others == nil {
		t.others = spare.Get().(*[maxHolds - few]hold)
	}
	t.n++
	*t.hold(t.n - 1) = h
}

func (t *Ticket) hold(i uint8) *hold {
	if i < few {
		return &t.holds[i]
	}
	return &t.others[i-few]
}

// lane is the one of the counters and of the gate's places.
func (t *Ticket) lane() uint8 { return t.door >> gateBits }

// tighten makes the claim on the limit the one that the decision tells of, if it
// is the tightest so far.
func (t *Ticket) tighten(left int64, l *limit) {
	if t.limit.id == 0 || left < t.left || left == t.left && l.id < t.limit.id {
		t.left, t.limit = left, l
	}
}

// refuse makes the ticket that of a refused request.
func (t *Ticket) refuse(r Reason, l Layer, wait time.Duration) {
	t.why, t.holds[0].word = because(r, l), uint64(wait)
}

// OK reports whether the request was admitted. The zero Ticket was not.
func (t *Ticket) OK() bool { return atomic.LoadUint32(&t.state) != 0 }

// Decision returns the answer in numbers.
func (t *Ticket) Decision() Decision {
	d := Decision{Reason: Reason(t.why >> 4), Layer: Layer(t.why & 0xf), Remaining: t.left}
	if t.limit != nil {
		d.Limit = t.limit.id
	}
	switch s := atomic.LoadUint32(&t.state); {
	case s == 0:
		d.RetryAfter = time.Duration(t.holds[0].word)
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
	if atomic.LoadUint32(&t.state) == ticketLone { // it holds nothing: no need for the dearest instruction
		t.state = ticketLone | ticketDone
		return
	}
	t.giveBack(o)
}

// giveBack is Done for a ticket that may hold something, or is not to be done.
func (t *Ticket) giveBack(o Outcome) {
	s := atomic.LoadUint32(&t.state)
	if s == 0 {
		return
	}
	e := t.limit.e
	if s&ticketDone != 0 || !atomic.CompareAndSwapUint32(&t.state, s, s|ticketDone) {
		e.misuse.doubleDone.Add(1)
		return
	}
	if e.adaptive.Load() != nil {
		e.quietly(func() { e.observe(t, o) })
	}
	for i := range t.holds[:min(t.n, few)] {
		if h := &t.holds[i]; h.kind == holdFlight { // the common one, in line
			e.table.Release(h.slot, bucket.Life(h.word), bucket.InUse(h.word))
		} else {
			e.giveBack(t, uint8(i))
		}
	}
	// The ticket stays as it is: another call to Done may be reading it.
	if t.door&gateMask != 0 {
		e.gate.LeaveBy(e.places(t), t.door&gateMask == gateCritical)
	}
	if t.cell != 0 {
		e.open[t.cell-1].limit.Store(0)
	}
	if t.others != nil {
		for i := uint8(few); i < t.n; i++ {
			e.giveBack(t, i)
		}
		spare.Put(t.others)
	}
}

// Settle names the real cost, 0 or more, of the claim on a post-paid limit,
// before Done; without it Done takes the estimate for the truth. What was used
// is charged even if it is more than the estimate or than the limit has left:
// the key then owes. A second Settle of the same claim, a negative cost, and a
// limit that the ticket has no post-paid claim on change nothing and are
// counted. Not for concurrent use with Done.
func (t *Ticket) Settle(l LimitID, actual int64) {
	s := atomic.LoadUint32(&t.state)
	if s == 0 {
		return
	}
	e := t.limit.e
	if actual >= 0 && s&ticketDone == 0 {
		for i := range t.n {
			if h := t.hold(i); h.limit == l && !h.settle && (h.kind == holdEstimate || h.kind == holdQuota) {
				h.settle = true
				e.settle(h, t.hold(i+1).word, actual)
				return
			}
		}
	}
	e.misuse.settle.Add(1)
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

// giveBack gives back the ticket's hold i.
func (e *Engine) giveBack(t *Ticket, i uint8) {
	h := t.hold(i)
	switch h.kind {
	case holdFlight:
		e.table.Release(h.slot, bucket.Life(h.word), bucket.InUse(h.word))
	case holdEstimate:
		if !h.settle { // the estimate is taken for the truth
			e.settle(h, t.hold(i+1).word, bucket.Held(h.word))
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
func (e *Engine) sample(t *Ticket) {
	for range 4 {
		i := e.nextCell.Add(1) % uint32(len(e.open))
		if c := &e.open[i]; c.limit.CompareAndSwap(0, uint32(t.hold(0).limit)) {
			c.since.Store(e.time.published.Load())
			t.cell = uint8(i) + 1
			return
		}
	}
}
