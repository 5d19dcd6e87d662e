package engine

import (
	"log/slog"
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/gate"
	"github.com/weir-go/weir/key"
	"github.com/weir-go/weir/ladder"
)

// Kind is the rule by which a limit counts.
type Kind uint8

// The kinds. Those before Block keep a word for every key.
const (
	TokenBucket Kind = iota // Rate tokens per Per drip into a bucket of Burst
	Quota                   // Rate units per calendar Window in Zone
	Sliding                 // never more than Rate in any interval of Per
	InFlight                // at most Max at once
	Block                   // nothing passes
	Unlimited               // everything passes, nothing is kept
)

var kindNames = [...]string{"token_bucket", "quota", "sliding", "in_flight", "block", "unlimited"}

// String returns the kind's name in snake case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// counts reports whether limits of the kind keep words.
func (k Kind) counts() bool { return k < Block }

// Window is the calendar window of a Quota.
type Window = bucket.Window

// The windows. They begin where the calendar of the limit's zone says.
const (
	WindowUnset = bucket.WindowUnset
	Minute      = bucket.Minute
	Hour        = bucket.Hour
	Day         = bucket.Day
	Month       = bucket.Month
)

// Limit is a named rule. Which fields count depends on Kind; a field that does
// not belong to the kind must be zero.
type Limit struct {
	// Name labels metrics, headers and kill switches: 1 to 64 of a-z A-Z 0-9 _ -
	// and '.', unique, and not "rate", "concurrency", "fleet", "worker" or "all".
	Name string
	Kind Kind

	Rate  int64         // TokenBucket: tokens per Per; Quota: units per Window; Sliding: at most this many in any Per (up to 511)
	Per   time.Duration // TokenBucket, Sliding
	Burst int64         // TokenBucket: what a full bucket holds

	Window  Window        // Quota
	Zone    string        // Quota: IANA time zone; "" is UTC
	ResetAt time.Duration // Quota of a Day or Month: the local time of day at which a window begins, 0 to 24 h

	Max        int64         // InFlight: how many at once, 1 to 16,777,214
	RetryAfter time.Duration // what a refusal tells the client whose wait no clock knows: of an InFlight, or by Fail or Overflow; 0 is 1 s

	// PostPaid, for a TokenBucket or a Quota: a claim's cost is an estimate, held
	// (of a Quota: charged) until Settle or Done names the real one.
	PostPaid bool

	Mode     Mode
	Fail     Fail
	Overflow Overflow
	Sync     Sync // how a fleet of instances shares it; the zero value is: not
}

// Gate configures layer 3, the share of the process kept for critical traffic.
type Gate struct {
	Mode     Mode
	Capacity int     // requests in flight the process can work on; 0 leaves the layer out
	Reserve  float64 // share kept for Critical, 0 to 1: others may hold floor((1-Reserve)*Capacity)
	HardCap  int     // all requests in flight, Critical too; 0: none
	// Adaptive, when not nil, moves the capacity between its Min and Max by how
	// long requests take from Admit to Done; Capacity must then be 0.
	Adaptive *gate.AdaptiveConfig

	RetryAfter time.Duration // what a refusal tells the client; 0 is 1 s
}

// Ladder configures layer 4, the damped shedder.
type Ladder struct {
	Mode Mode
	// Law is the control law's constants; the zero value is ladder.Default(),
	// anything else is taken as it stands.
	Law ladder.Config
	// Signal gives one reading a tick. nil: the standing queue of Config.Workers,
	// or the scheduler's latency when that is nil too.
	Signal func() ladder.Reading

	RetryAfter time.Duration // what a refusal tells the client; 0 is 1 s
}

// WorkerStats is the state of the caller's worker pool at one moment.
type WorkerStats struct {
	Busy   int       // workers at work
	Queued int       // requests that wait for one
	Live   int       // workers there are; 0 or less, or any negative figure: no reading
	At     time.Time // when it was read; zero: now
}

// Config is everything an Engine is made of. It is data, which Swap replaces while
// the engine decides. Nothing is required; a service often needs no more than
//
//	engine.Config{
//		Limits: []engine.Limit{
//			{Name: "api", Rate: 100, Per: time.Second, Burst: 200}, // of each key
//			{Name: "running", Kind: engine.InFlight, Max: 20},      // of each key
//		},
//		Gate: engine.Gate{Capacity: 200, Reserve: 0.2}, // of the process
//	}
//
// The zero Config has no limits and no gate; its ladder follows the scheduler's
// latency. Ladder{Mode: Off} leaves that out too.
type Config struct {
	Limits []Limit
	Gate   Gate
	Ladder Ladder
	// Workers is sampled every 100 ms when it is not nil. It must not block.
	Workers func() WorkerStats
	Default Class // what an unclassified request counts as; ClassUnset is Read

	// MaxEntries is how many (limit, key) states fit; it fixes the memory, at
	// about 27 bytes each. 0 is 1<<20.
	MaxEntries int
	// Secret keys the hash that tells keys apart: nil is a random one per
	// process. Give the same 16 bytes or more to every instance of a fleet.
	Secret []byte
	// Clock is the time; nil is the real one.
	Clock Clock
	// PreciseClock reads the clock for every request instead of using the time
	// that the ticker publishes about every millisecond.
	PreciseClock bool
	// Sync shares the limits whose Sync is on; see package fleet. nil: none may
	// be.
	Sync   Syncer
	Logger *slog.Logger // nil discards
	// Redact turns a key into what the log of a shadow limit may show of it; nil
	// shows nothing.
	Redact func(key.Key) string
}
