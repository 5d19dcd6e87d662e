package engine

import (
	"maps"
	"sync/atomic"
	"time"
)

// Snapshot is the engine's state and counters at about one moment. Counters
// only grow; each is exact once the engine is quiet.
type Snapshot struct {
	At       time.Time
	Limits   []LimitSnapshot    // in the order of their handles, removed ones too: their counters stay
	Admitted [numClasses]uint64 // by class
	// Unclassified counts the requests that came without a class.
	Unclassified uint64
	Gate         GateSnapshot
	Ladder       LadderSnapshot
	Table        TableSnapshot
	Misuse       Misuse
	// Faults counts panics inside weir, or in what it was given to call.
	Faults uint64
	// Unguarded is for how long, summed over all incidents, the engine failed
	// open (or closed) because of a fault of its own.
	Unguarded time.Duration
	Fleet     FleetSnapshot   // when limits are shared
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

// Snapshot returns the state and the counters. It reads every counter and, when
// there are limits on what is in flight, the whole table (about 5 ms for a
// million entries); it slows no decision.
func (e *Engine) Snapshot() Snapshot {
	e.mu.Lock()
	modes := maps.Clone(e.modes)
	for _, c := range (*e.names.Load())[1:] {
		modes[c.name] = c.own
	}
	e.mu.Unlock()
	for _, name := range reserved {
		if _, set := modes[name]; !set {
			modes[name] = Enforce
		}
	}
	p := e.plan.Load()
	s := Snapshot{
		At:     e.time.Wall(),
		Limits: e.limitSnapshots(p),
		Gate:   e.gateSnapshot(p),
		Ladder: e.ladderSnapshot(),
		Table:  TableSnapshot{Entries: e.table.Entries(), MaxEntries: p.cfg.MaxEntries, Bytes: e.table.Bytes()},
		Misuse: Misuse{
			Negative: e.misuse.negative.Load(), TooMany: e.misuse.tooMany.Load(), UnknownLimit: e.misuse.unknown.Load(),
			Twice: e.misuse.twice.Load(), DoubleDone: e.misuse.doubleDone.Load(), Settle: e.misuse.settle.Load(),
		},
		Faults: e.misuse.faults.Load(),
		Modes:  modes,
	}
	e.ticker.mu.Lock()
	s.Unguarded = time.Duration(e.ticker.unguarded)
	e.ticker.mu.Unlock()
	for i := range e.tallies {
		t := &e.tallies[i]
		addAll(s.Gate.Refused[:], t.gate[:])
		addAll(s.Gate.WouldRefuse[:], t.gateWould[:])
		addAll(s.Ladder.Refused[:], t.ladder[:])
		addAll(s.Ladder.WouldRefuse[:], t.ladderWould[:])
	}
	for i := range e.lanes {
		l := &e.lanes[i]
		addAll(s.Admitted[Test:], l.admitted[:])
		s.Unclassified += l.unclassified.Load()
	}
	if p.cfg.Sync != nil {
		s.Fleet = p.cfg.Sync.Snapshot()
	}
	return s
}

func addAll(sums []uint64, counts []atomic.Uint64) {
	for i := range sums {
		sums[i] += counts[i].Load()
	}
}

func (e *Engine) limitSnapshots(p *plan) []LimitSnapshot {
	inUse := e.inUse(p)
	oldest := e.oldest()
	var out []LimitSnapshot
	for id := 1; id < len(p.limits); id++ {
		l := p.limits[id]
		s := LimitSnapshot{
			ID: l.id, Name: l.ctl.name, Kind: l.kind, Layer: l.layer, Mode: l.mode,
			Removed: !l.live, OldestTicket: oldest[l.id],
		}
		if l.table != 0 && (l.kind == InFlight || l.charge != nil) {
			s.InFlight = inUse[l.table]
		}
		for i := range l.ctl.tallies {
			t := &l.ctl.tallies[i]
			for c := range s.Refused {
				addAll(s.Refused[c][:], t.refused[c][:])
				addAll(s.WouldRefuse[c][:], t.would[c][:])
			}
			s.Overflow += t.overflow.Load()
		}
		out = append(out, s)
	}
	return out
}

func (e *Engine) inUse(p *plan) (sums [256]int64) {
	for i := range p.limits {
		if l := p.limits[i]; l.live && (l.kind == InFlight || l.charge != nil) {
			return e.table.InUse()
		}
	}
	return sums
}

// oldest returns the age of the oldest sampled open ticket by limit.
func (e *Engine) oldest() map[LimitID]time.Duration {
	ages := map[LimitID]time.Duration{}
	now := e.time.Now()
	for i := range e.open {
		c := &e.open[i]
		if id := LimitID(c.limit.Load()); id != 0 {
			ages[id] = max(ages[id], time.Duration(now-c.since.Load()))
		}
	}
	return ages
}

func (e *Engine) gateSnapshot(p *plan) GateSnapshot {
	g := GateSnapshot{Mode: Mode(e.layerMode[Fleet].Load()), Capacity: p.cfg.Gate.Capacity}
	g.Critical, g.Other = e.gate.Inside()
	if a := e.adaptive.Load(); a != nil {
		g.Capacity = a.Limit()
	}
	if p.gated {
		e.sizing.Lock()
		g.Allocation, g.HardCap = e.allocation, e.hardCap
		e.sizing.Unlock()
	}
	return g
}

func (e *Engine) ladderSnapshot() LadderSnapshot {
	t := &e.ticker
	t.mu.Lock()
	defer t.mu.Unlock()
	st := t.ladder.State()
	s := LadderSnapshot{
		Mode: Mode(e.layerMode[Worker].Load()), Level: st.Level, Armed: st.Armed, Exhausted: st.Exhausted,
		Hold: st.Hold, Reading: st.Reading, ReadingAge: -1, Source: t.source,
	}
	if !st.At.IsZero() {
		s.ReadingAge = e.time.Time(e.time.Now()).Sub(st.At)
	}
	return s
}
