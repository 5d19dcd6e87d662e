package engine

import "time"

// Snapshot is the engine's state and counters at about one moment. Counters
// only grow; each is exact once the engine is quiet.
type Snapshot struct {
	At       time.Time
	Limits   []LimitSnapshot    // in the order of their handles, removed ones too while they hold anything
	Admitted [numClasses]uint64 // by class
	// Unclassified counts the requests that came without a class.
	Unclassified uint64
	Gate         GateSnapshot
	Ladder       LadderSnapshot
	Table        TableSnapshot
	Misuse       Misuse
	// Unguarded is for how long, summed over all incidents, the engine failed
	// open (or closed) because of a fault of its own.
	Unguarded time.Duration
	Modes     map[string]Mode // as set: "all", the four layers, every limit
}

// LimitSnapshot is one limit's part of a Snapshot.
type LimitSnapshot struct {
	ID      LimitID
	Name    string
	Kind    Kind
	Layer   Layer
	Mode    Mode // in force: the weakest of the limit's, its layer's and "all"
	Removed bool // no longer in the configuration
	// Refused counts refusals that named this limit, WouldRefuse those that a
	// shadow limit would have made, by class and reason.
	Refused     [numClasses][numReasons]uint64
	WouldRefuse [numClasses][numReasons]uint64
	Overflow    uint64 // decisions on keys that the table had no room for
	InFlight    int64  // InFlight and PostPaid: what all keys hold now
	// OldestTicket is the age of the oldest sampled ticket that is still open; 0:
	// none. A leak shows here.
	OldestTicket time.Duration
}

// GateSnapshot is layer 3's part of a Snapshot.
type GateSnapshot struct {
	Mode        Mode
	Capacity    int
	Allocation  int // what non-critical requests may hold
	HardCap     int
	Critical    int // in flight
	Other       int // in flight
	Refused     [numClasses]uint64
	WouldRefuse [numClasses]uint64
}

// LadderSnapshot is layer 4's part of a Snapshot.
type LadderSnapshot struct {
	Mode        Mode
	Level       float64 // in classes: 1.4 is all of Test and 40 % of Read
	Armed       bool
	Exhausted   bool // at its cap and the signal is still bad
	Hold        time.Duration
	Reading     float64       // the last one used
	ReadingAge  time.Duration // -1: none yet
	Source      string        // which signal drives
	Refused     [numClasses]uint64
	WouldRefuse [numClasses]uint64
}

// TableSnapshot is the key table's part of a Snapshot.
type TableSnapshot struct {
	Entries    int // (limit, key) states in use, as of the last sweep
	MaxEntries int
	Bytes      int // memory of the table
}

// Misuse counts calls that broke the contract; each was answered safely.
type Misuse struct {
	Negative     uint64 // a claim with a negative cost
	TooMany      uint64 // more than MaxClaims claims
	UnknownLimit uint64 // a claim on a handle that is in no configuration
	Twice        uint64 // two claims on one limit
	DoubleDone   uint64
	Settle       uint64 // Settle of a limit that the ticket has no claim on, or below 0
}
