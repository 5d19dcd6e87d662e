package engine

import (
	"slices"
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// plan is one configuration, resolved: everything that Admit reads, behind one
// pointer. It is immutable; Swap and SetMode replace it.
type plan struct {
	cfg    Config
	limits []*limit // by LimitID; removed ones stay, not live
	paced  []*limit // those that have a published time of their own
	deflt  Class
	gated  bool // there is a layer 3
	synced bool // some limits are shared with a fleet
	closed bool // after Close
	// express: requests may take the express way; not where they are timed, on a
	// clock that may panic, past a gate that is not simply enforced, or after Close.
	express bool
	// What refusals of the layers tell clients to wait.
	gateRetry, ladderRetry time.Duration
}

// cloneLimits gives the plan limits of its own, which may be changed until somebody
// sees it.
func (p *plan) cloneLimits() {
	p.limits = slices.Clone(p.limits)
	for i, l := range p.limits {
		own := *l
		p.limits[i] = &own
	}
}

// close makes every request one for the fail policies.
func (p *plan) close() {
	p.closed, p.express = true, false
	p.cloneLimits()
	for i := range p.limits {
		p.limits[i].lone = 0
	}
}

// limit is a limit as Admit sees it. What every decision reads comes first.
type limit struct {
	// What the commonest request needs of a token bucket. lone is the largest cost
	// that it is decided for: 0 where anything but the ladder can refuse beside it,
	// and where express is 0. at is the published time in the bucket's units.
	lone  uint64
	at    *instant
	spend bucket.Spender
	table uint8 // table id of the word that is taken

	e    *Engine
	rule bucket.Rule // of the word that is taken
	ctl  *control
	// wide is where the entries of a synced limit are that the engine charges itself,
	// on the published time; wideID is its number there.
	wide     *shard.Wide
	wideSalt uint64
	wideID   uint32
	shared   Shared     // decides instead of the table when the limit is synced
	taker    KnownTaker // shared, if it is one and a token bucket or a count in flight
	max      int64      // the largest cost that can ever pass: 0 for Block
	// express is max for limits that the express way knows and that are enforced
	// for every key, else 0.
	express uint64
	// slack is what a token bucket can gain, in its units, while a published time
	// is current: so much may be missing from what remains by a look too early.
	slack uint64

	id       LimitID
	kind     Kind
	layer    Layer
	bucket   uint8 // post-paid bucket: table id of the bucket beside the hold
	passes   bool  // Unlimited, or removed
	mode     Mode  // in force: the weakest of the limit's own, its layer's and all's
	holds    bool  // a ticket has something to give back, or to settle
	live     bool
	postPaid bool
	fail     Fail
	overflow Overflow

	retry  time.Duration
	charge *bucket.Rule // post-paid bucket: the bucket's own rule; rule is the hold's
	cfg    Limit
}

// reason is what a refusal by this limit is called.
func (l *limit) reason() Reason {
	if l.kind == InFlight {
		return Full
	}
	return Limited
}

// plain reports whether the express way knows limits like this one.
func (l *limit) plain() bool {
	return l.live && l.shared == nil && !l.postPaid && (l.kind == TokenBucket || l.kind == InFlight)
}

// control is what stays of a limit through every Swap, also when it is removed.
type control struct {
	name    string
	own     Mode   // as configured or set; guarded by Engine.mu
	salt    uint64 // of its ramp
	tallies []limitTally
}

// place says where on a ramp of [0, modeOne) a key lies: by the stable hash,
// salted so that two limits do not pick the same keys.
func place(p, salt uint64) uint64 {
	x := (p ^ salt) * 0x9e3779b97f4a7c15
	x = (x ^ x>>32) * 0xbf58476d1ce4e5b9
	return x >> 48
}

// What a limit does for one request.
type action uint8

const (
	skip action = iota
	watch
	enforce
)

// action resolves a ramp for a key.
func (m Mode) action(p, salt uint64) action {
	if m == Enforce {
		return enforce
	}
	at := place(p, salt)
	switch on := m.enabled(); {
	case at >= on:
		return skip
	// Enforced is a share of the enabled keys: the lowest of them.
	case at<<16 < on*m.enforced():
		return enforce
	}
	return watch
}
