package fleet

import (
	"context"
	"time"

	"github.com/weir-go/weir/key"
)

// Op is what an item of a batch asks for.
type Op byte

// The operations. A bucket's state is the same under OpRate and OpLease: while some
// instances share a limit and others lease from it, both spend from one bucket. The
// places of a strict limit lie apart from those of a shared one, which are had back
// sooner.
const (
	OpRate  Op = 'r' // merge what was consumed, learn the state of the whole
	OpLease Op = 'l' // give back and lease tokens of a bucket
	OpQuota Op = 'q' // give back and lease units of a calendar window
	OpHold  Op = 'c' // hold places of a per-key concurrency
	OpKeep  Op = 'p' // the same of a strict one
)

// Store returns the letter under which the operation's state is stored.
func (o Op) Store() byte {
	if o == OpLease {
		return byte(OpRate)
	}
	return byte(o)
}

// grants reports whether a lost reply would lose what was granted, so that the
// store keeps it beside the sequence number.
func (o Op) grants() bool { return o == OpLease || o == OpQuota }

// None is an Item's X0 when nothing is known.
const None = -1e300

// Args is how many numbers an item carries.
const Args = 8

// The places of an item's numbers, by operation. Times are in microseconds;
// X0 and M are on the store's clock, everything else is a length of time, so
// that no instance's clock is ever compared with another's.
const (
	RateA    = 0 // tokens consumed since the last exchange
	RateT    = 1 // time per token
	RateX0   = 2 // arrival as of the last reply: what the store must at least know
	RateU    = 3 // what this instance alone still owes, in time
	RateAtt  = 4 // tokens asked for since the last exchange, refused ones too
	RateHi   = 5 // the most that may be owed: burst and debt
	RateTau  = 6 // the burst
	LeaseTau = 6

	LeaseGive = 0 // tokens given back; negative: spent without a lease
	LeaseT    = 1
	LeaseM    = 2 // arrival that the tokens given back were laid upon
	LeaseWant = 3 // tokens wanted
	LeaseAtt  = 4
	LeaseFrac = 5 // at most this part of what there is, but for LeaseMin
	LeaseMin  = 7 // the least that is of use

	QuotaGive = 0 // as LeaseGive
	QuotaWant = 1
	QuotaCap  = 2
	QuotaX0   = 3 // used as of the last reply
	QuotaGen  = 4 // of the counter that said so; 0: none
	QuotaFrac = 5
	QuotaTTL  = 6 // of the counter
	QuotaMin  = 7

	HoldUsed = 0 // in flight now
	HoldHeld = 1 // places this instance may use now
	HoldWant = 2
	HoldMax  = 3 // of the fleet
	HoldTTL  = 4 // for which the store keeps what this instance holds
	HoldMost = 5 // places it takes at most
)

// Item is one key's part of a batch.
type Item struct {
	Op     Op
	Limit  string
	Key    key.Key
	Window int64 // OpQuota: the number of the window
	Arg    [Args]float64
}

// Answer is the store's reply to an item:
//
//	OpRate   arrival, attempts remembered, age of that memory
//	OpLease  arrival, attempts remembered, tokens granted
//	OpQuota  units used or leased, generation of the counter, units granted
//	OpHold   places granted, holders, places held by all; OpKeep alike
type Answer [3]float64

// Boot tells one run of one process from all others.
type Boot [16]byte

// Batch is what one instance sends for the keys of one shard. It is executed
// at most once: a batch whose reply was lost is sent again as it was.
type Batch struct {
	Shard int
	Seq   uint64  // 1 more than that of the shard's batch before
	Decay float64 // us in which the memory of attempts falls to 1/e
	Items []Item

	// Set by the Transport.
	Err     error
	Now     float64  // the store's clock, us since its epoch
	Prev    uint64   // the last sequence number executed before; >= Seq: a duplicate
	Answers []Answer // one per item
}

// Beat is an instance's report on its gate.
type Beat struct {
	Group     string
	Tick      uint64  // grows with every beat; the store ignores a beat that comes late
	Capacity  float64 // of this instance
	Critical  float64 // in flight
	Other     float64 // in flight
	Held      float64 // non-critical requests it may have in flight now
	Want      float64
	U         float64 // a random fraction that rounds a grant
	TTL       float64 // of a lease, us
	Hold      float64 // how long what was borrowed stays with an instance that vanished, us
	Grace     float64 // how long the rest stays, us
	Reserve   float64 // share of the capacity kept for critical traffic
	Fixed     float64 // capacity of the fleet; 0: the sum of its instances
	Expected  float64 // instances to expect at least; 0: unknown
	Known     float64 // instances as of the last reply; 0: none yet
	Alone     float64 // what is safe without any lease
	Base      float64 // what it falls back to now when its lease runs out
	Shards    float64
	Signature float64 // of the group's configuration: the same on every instance
}

// BeatReply is the store's answer to a Beat.
type BeatReply struct {
	Now       float64
	Quota     float64 // non-critical requests this instance may have in flight
	Base      float64 // and when its lease has run out
	Instances float64
	Critical  float64 // in flight in the fleet
	Other     float64 // in flight in the fleet
	Capacity  float64 // of the fleet
	Strangers float64 // instances with another number of shards or another configuration
	Learning  float64 // 1: the store has lately lost the group
}

// Transport carries batches and beats to the store that the instances have in
// common. Its methods are safe for concurrent use, honour the context's
// deadline and never try an exchange again by themselves.
type Transport interface {
	// Push sends batches, each of another shard, and sets each one's reply or
	// error.
	Push(ctx context.Context, boot Boot, batches []*Batch)
	// Beat reports on the gate.
	Beat(ctx context.Context, boot Boot, b *Beat) (BeatReply, error)
	// Check looks at the store once, for what an operator should know: whether it
	// can be reached and used, how it is set up, and what other versions of the
	// layout use it.
	Check(ctx context.Context, now time.Time) Report
	// Shards returns over how many shards the keys are spread.
	Shards() int
	// Leave withdraws the instance's record, when it stops in good order.
	Leave(ctx context.Context, boot Boot, group string) error
	// Close ends the connections.
	Close() error
}

// Report is what a Check finds.
type Report struct {
	Err      error         // why the store cannot be used; nil: it can
	Ahead    time.Duration // by how much the store's clock is ahead of this one's
	Warnings []string      // what works, but not as it should
}

// What every instance must agree on, in microseconds.
const (
	SeqTTL   = 60e6 // for which the store remembers an instance's last batch
	GroupTTL = 60e6 // for which the store keeps a group that nobody reports to
	MinTTL   = 5e6  // of a bucket
	MinDebt  = 1e6  // that a bucket may run into: as much as its burst, or this

	MaxAge = 1<<32 - 1 // of a bucket's memory of attempts, as far as the store counts it
)
