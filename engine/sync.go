package engine

import (
	"log/slog"
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/key"
	"github.com/weir-go/weir/shard"
)

// SyncMode says whether and how the instances of a fleet share a limit.
type SyncMode uint8

// The ways to share. A quota is shared by leases under either of the last two,
// so that the fleet never exceeds it.
const (
	SyncOff    SyncMode = iota // every instance by itself
	SyncShare                  // decide locally on a share of the whole; exact in the long run
	SyncStrict                 // spend only what was leased before: never above the limit, at many times the traffic
)

var syncNames = [...]string{"off", "share", "strict"}

// String returns the mode's name in lower case.
func (m SyncMode) String() string {
	if int(m) < len(syncNames) {
		return syncNames[m]
	}
	return "unknown"
}

// Stale is what a shared limit does while the fleet cannot be reached.
type Stale uint8

// The policies for an outage.
const (
	// StaleDefault is StaleShare for shares and per-key concurrency, and
	// StaleClosed for leases and for limits that fail closed.
	StaleDefault Stale = iota
	StaleShare         // go on with the instance's own part, at least Sync.Floor of the whole
	StaleOpen          // go on with the whole limit on every instance
	StaleClosed        // after Sync.Grace refuse with reason Closed
)

var staleNames = [...]string{"default", "share", "open", "closed"}

// String returns the policy's name in lower case.
func (s Stale) String() string {
	if int(s) < len(staleNames) {
		return staleNames[s]
	}
	return "unknown"
}

// Cold is how much of a shared bucket an instance uses for a key that it has
// not synced yet, with N instances.
type Cold uint8

// The cold gains.
const (
	ColdBalanced     Cold = iota // 1/sqrt(N)
	ColdOptimistic               // all of it: right when the load balancer is sticky
	ColdConservative             // 1/N: right when it spreads a user's requests evenly
)

// Sync is how a limit is shared. The zero value is: not at all.
type Sync struct {
	Mode    SyncMode
	OnStale Stale
	Floor   float64       // StaleShare: the least part of the limit an instance uses in an outage, 0 to 1; 0 is 1/N
	Grace   time.Duration // StaleClosed: how long the last share still serves; 0 is 1 s
	Cold    Cold
}

// Syncer shares limits with other instances. It owns the state of every limit
// whose Sync is on; the engine asks it on the way of a request. Package fleet
// is one.
type Syncer interface {
	// Bind returns the shared state of one limit. It is called for every limit
	// that is synced, when the engine is made and at each Swap, never twice at
	// a time.
	Bind(Binding) (Shared, error)
	// Start is called once, after the first limits are bound and before the
	// first decision.
	Start(SyncHost) error
	// Snapshot returns the state and counters.
	Snapshot() FleetSnapshot
	// Close gives back what is leased, within about 300 ms.
	Close() error
}

// Binding is a synced limit as the engine has understood it.
type Binding struct {
	ID    LimitID
	Limit Limit
	// Rule counts the limit's words; for a changed rate it is the one that keeps
	// their unit.
	Rule bucket.Rule
	// Prev is the state before a Swap, when its words can be kept; nil starts
	// afresh.
	Prev Shared
}

// Shared decides for one limit of a fleet. Its methods are safe for concurrent
// use, do not allocate and never wait; now is in ns on the engine's clock.
type Shared interface {
	// Peek answers without charging and inserts nothing.
	Peek(k key.Key, now, cost int64) SharedStep
	// Take charges cost if it fits. A refusal counts only when Refused is told.
	Take(k key.Key, now, cost int64) (SharedStep, Handle)
	// Undo takes back a charge that the same request made, now read after it.
	Undo(h Handle, now int64)
	// Refused tells of a request that this limit refused with the step s, once
	// per request: refused demand is demand.
	Refused(k key.Key, s SharedStep, now, cost int64)
	// Done gives back what an InFlight limit holds; id is the Handle's.
	Done(id uint64, cost int64)
}

// KnownTaker is a Shared with a shorter way for the common answers: a key that is
// known and a cost, at least 1, that fits. Both methods say no where they do not
// know, and have then done nothing.
type KnownTaker interface {
	// FitsKnown is Peek, if it would say Admitted.
	FitsKnown(k key.Key, now, cost int64) bool
	// TakeKnown is Take, if it would say Admitted: id, done and units are the
	// Handle's, left is what remains.
	TakeKnown(k key.Key, now, cost int64) (id, done, units uint64, left int64, ok bool)
}

// Entered is a Shared token bucket whose entries the engine charges itself where
// that is all there is to a decision: the key is known, and one token fits.
type Entered interface {
	// Entries returns the table of the entries, and the limit's number in it.
	Entries() (t *shard.Wide, limit uint32)
	// Asked is told of a charge to the entry i when its Link is 0.
	Asked(i uint32, now int64)
}

// Watcher is a Shared that wants to know whether its limit only watches (it is
// switched off, in shadow, or enforced for nobody): so that its keys yield to
// those of enforced limits.
type Watcher interface{ Watch(watching bool) }

// SharedStep is the answer of a shared limit.
type SharedStep struct {
	Reason     Reason        // Admitted, Limited, Full, NeverFits or Closed
	RetryAfter time.Duration // as in Decision
	Remaining  int64         // as in Decision, of what this instance may use
	Entry      uint64        // where the key's state lives; 0: nowhere
}

// Handle is what undoes a charge.
type Handle struct {
	ID    uint64 // entry and life of the word
	Done  uint64 // the word as charged
	Units uint64 // what was charged, in the word's units
	Cost  int64  // and in the limit's
}

// SyncHost is what a Syncer gets of its engine. Its methods are safe for
// concurrent use.
type SyncHost interface {
	Now() int64      // ns since the engine's epoch, read now
	Wall() time.Time // the time of day
	Logger() *slog.Logger
	// GateUse returns the use of the gate; the peaks and counts are since the
	// last call.
	GateUse() GateUse
	// LeaseGate replaces the bounds of the gate.
	LeaseGate(GateLease)
}

// GateUse is the use of the gate.
type GateUse struct {
	Capacity int     // as configured; 0: no gate
	Reserve  float64 // as configured
	Critical int     // in flight now
	Other    int     // in flight now
	Peak     int     // the most non-critical requests in flight at once
	Refused  uint64  // non-critical requests refused
}

// GateLease is what the fleet allows this instance's gate.
type GateLease struct {
	Until    int64 // ns on the engine's clock up to which Other counts
	Other    int   // non-critical requests in flight until then
	Fallback int   // and afterwards
	Total    int   // all requests in flight; 0: no bound but the gate's own
	Critical int   // critical requests in flight that pass whatever Total says
	// Wake, if not nil, is sent to without waiting when the lease refuses a
	// non-critical request.
	Wake chan<- struct{}
}

// FleetSnapshot is the fleet's part of a Snapshot.
type FleetSnapshot struct {
	On        bool
	Instances int           // live in the fleet, as last heard; 0: never heard
	SyncAge   time.Duration // since the oldest shard's last acknowledged exchange; -1: never
	Shards    int
	Down      int           // shards that are cut off now
	DownTime  time.Duration // summed over shards
	Keys      int           // states in the table of synced keys
	Share     float64       // mean share of the keys synced lately, 0 to 1
	Debt      float64       // tokens owed above their limits, summed over keys synced lately
	Pending   int64         // tokens admitted and not yet acknowledged

	Acked      uint64 // batches
	Resent     uint64 // batches sent again with the same number
	Duplicates uint64 // batches that had been executed before
	Lost       uint64 // keys whose history the store had lost
	Deferred   uint64 // keys left for a later tick
	Errors     uint64 // failed calls
	Restarts   uint64 // of the loop, after a fault of its own

	// The reservation.
	Quota      int     // non-critical requests this instance may hold
	Base       int     // what it may hold without a lease
	Capacity   float64 // of the fleet
	Critical   int     // in flight in the fleet, as last heard
	Other      int     // in flight in the fleet, as last heard
	Excess     int     // estimate of non-critical requests above the fleet's allocation
	LeaseValid bool
}
