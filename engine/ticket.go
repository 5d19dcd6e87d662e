package engine

import (
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// Ticket is the answer to Admit. It must not be copied once it is used; keep it
// where it is and call its methods there.
type Ticket struct {
	_ noCopy
	e *Engine
	d Decision
	// tight, if not nil, is a bucket that has room left, in its units, which is
	// still to be counted and may be less than d says of the others.
	tight *limit
	room  uint64

	done    uint32 // set by the first Done, atomically
	cell    uint16 // of the sample of open tickets, plus one
	lane    uint8  // by which it came through the gate
	n       uint8  // holds
	open    bool   // admitted: something may be owed
	decided bool
	gate    uint8
	since   int64 // when it was admitted, where that is needed
	holds   [few]hold
	others  *[MaxClaims - few]hold
}

// noCopy makes vet complain about copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// What the ticket holds of the gate.
const (
	gateNone = iota
	gateOther
	gateCritical
)

// hold is what Done gives back for one claim, or Settle corrects.
type hold struct {
	h      uint64
	word   uint64 // as charged; in flight: its life
	cost   int64
	slot   uint32
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
)

// spare keeps the room for tickets that hold more than a few claims.
var spare = sync.Pool{New: func() any { return new([MaxClaims - few]hold) }}

// keep notes what a charged claim has to give back.
func (t *Ticket) keep(f *frame, s *step) {
	var h hold
	switch {
	case s.l.shared != nil:
		h = hold{word: f.sync(s).handle.ID, kind: holdShared}
	case s.Slot == shard.None:
		return
	case s.l.kind == InFlight:
		h = hold{word: bucket.Life(s.Word), kind: holdFlight}
	case s.l.kind == Quota:
		h = hold{word: s.Word, kind: holdQuota}
	default:
		h = hold{word: s.Word, kind: holdEstimate}
	}
	h.h, h.cost, h.slot, h.limit = s.H, s.Cost, s.Slot, s.l.id
	if t.n < few {
		t.holds[t.n] = h
	} else {
		if t.others == nil {
			t.others = spare.Get().(*[MaxClaims - few]hold)
		}
		t.others[t.n-few] = h
	}
	t.n++
}

func (t *Ticket) hold(i uint8) *hold {
	if i < few {
		return &t.holds[i]
	}
	return &t.others[i-few]
}

// OK reports whether the request was admitted. The zero Ticket was not.
func (t *Ticket) OK() bool { return t.open }

// Decision returns the answer in numbers.
func (t *Ticket) Decision() Decision {
	d := t.d
	if l := t.tight; l != nil {
		left := l.tokens(t.room)
		if d.Limit == 0 || d.Limit == l.id || left < d.Remaining || left == d.Remaining && l.id < d.Limit {
			d.Remaining, d.Limit = left, l.id
		}
	}
	return d
}

// Done gives back everything the request holds. It is to be called once, when
// the work has really ended; on a refused ticket it does nothing, and a second
// call changes nothing and is counted. Where the ticket holds something, that is
// so from whatever goroutines the calls come. Done works after Close, after Swap
// and after the removal of a limit.
func (t *Ticket) Done(o Outcome) {
	if !t.open {
		return
	}
	if t.n == 0 && t.gate == gateNone {
		// Nothing is owed: no need for the dearest instruction here.
		if t.done != 0 {
			t.e.misuse.doubleDone.Add(1)
		}
		t.done = 1
		return
	}
	if atomic.SwapUint32(&t.done, 1) != 0 {
		t.e.misuse.doubleDone.Add(1)
		return
	}
	e := t.e
	if e.adaptive.Load() != nil {
		e.quietly(func() { e.observe(t, o) })
	}
	for i := range t.holds[:min(t.n, few)] {
		if h := &t.holds[i]; h.kind == holdFlight { // the common one, in line
			e.table.Release(h.slot, h.word, h.cost)
		} else {
			e.giveBack(h)
		}
	}
	// The ticket stays as it is: another call to Done may be reading it.
	if t.gate != gateNone {
		e.gate.LeaveBy(e.places(t), t.gate == gateCritical)
	}
	if t.cell != 0 {
		e.open[t.cell-1].limit.Store(0)
	}
	if t.others != nil {
		for i := range t.others[:t.n-few] {
			e.giveBack(&t.others[i])
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
	if !t.open {
		return
	}
	if actual >= 0 && atomic.LoadUint32(&t.done) == 0 {
		for i := range t.n {
			if h := t.hold(i); h.limit == l && !h.settle && (h.kind == holdEstimate || h.kind == holdQuota) {
				h.settle = true
				t.e.settle(h, actual)
				return
			}
		}
	}
	t.e.misuse.settle.Add(1)
}

// settle charges what was used and lets go of the estimate, in that order: in
// between both count, so nobody is admitted on room that is not there.
func (e *Engine) settle(h *hold, actual int64) {
	e.quietly(func() {
		l := &e.plan.Load().limits[h.limit]
		switch h.kind {
		case holdQuota:
			if l.live && l.kind == Quota {
				e.settleQuota(l, h, actual)
			}
		case holdEstimate:
			if l.live && l.charge != nil && actual > 0 {
				c := shard.Claim{H: h.h, Cost: actual, Rule: l.charge, ID: l.bucket}
				e.table.Charge(&c)
			}
		}
	})
	if h.kind == holdEstimate {
		e.table.ReleaseHold(h.slot, uint8(h.word>>56), h.cost)
	}
}

// settleQuota corrects the estimate: what was too much goes back to the window
// it was taken from, what was too little is charged to the one that is now.
func (e *Engine) settleQuota(l *limit, h *hold, actual int64) {
	c := shard.Claim{H: h.h, Rule: &l.rule, ID: l.table, Slot: h.slot, Word: h.word}
	switch {
	case actual < h.cost:
		c.Cost = h.cost - actual
		e.table.Undo(&c)
	case actual > h.cost:
		c.Cost = actual - h.cost
		e.table.Charge(&c)
	}
}

func (e *Engine) giveBack(h *hold) {
	switch h.kind {
	case holdFlight:
		e.table.Release(h.slot, h.word, h.cost)
	case holdEstimate:
		if !h.settle {
			e.settle(h, h.cost)
		}
	case holdShared:
		e.quietly(func() {
			if l := &e.plan.Load().limits[h.limit]; l.shared != nil {
				l.shared.Done(h.word, h.cost)
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
			t.cell = uint16(i) + 1
			return
		}
	}
}
