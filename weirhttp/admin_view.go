package weirhttp

import (
	"time"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/series"
)

// adminView is a Snapshot in the words of the page and of its JSON.
type adminView struct {
	At               time.Time         `json:"at"`
	Targets          []adminTarget     `json:"targets"`
	ClassRows        []adminClass      `json:"classes"`
	Limits           []adminLimit      `json:"limits"`
	Unclassified     uint64            `json:"unclassified"`
	Gate             adminGate         `json:"gate"`
	Ladder           adminLadder       `json:"ladder"`
	Table            adminTable        `json:"table"`
	Fleet            *adminFleet       `json:"fleet,omitempty"` // when limits are shared
	Faults           uint64            `json:"faults"`
	UnguardedSeconds float64           `json:"unguarded_seconds"`
	Misuse           map[string]uint64 `json:"misuse"`

	Control bool `json:"-"` // the page shows buttons
}

// adminTarget is something that has a mode.
type adminTarget struct {
	Name    string `json:"name"`
	Kind    string `json:"kind,omitempty"`
	Layer   string `json:"layer,omitempty"`
	Set     string `json:"set"`
	InForce string `json:"in_force,omitempty"`
}

// adminClass is a class's requests, refused ones by layer.
type adminClass struct {
	Class       string `json:"class"`
	Admitted    uint64 `json:"admitted"`
	Rate        uint64 `json:"refused_rate"`
	Concurrency uint64 `json:"refused_concurrency"`
	Fleet       uint64 `json:"refused_fleet"`
	Worker      uint64 `json:"refused_worker"`
	Would       uint64 `json:"would_refuse"`
}

// adminLimit is a limit's counters; the nested maps are class, then reason.
type adminLimit struct {
	Name                string                       `json:"name"`
	Removed             bool                         `json:"removed,omitempty"`
	Refused             map[string]map[string]uint64 `json:"refused"`
	RefusedTotal        uint64                       `json:"refused_total"`
	WouldRefuse         map[string]map[string]uint64 `json:"would_refuse"`
	WouldTotal          uint64                       `json:"would_refuse_total"`
	Overflow            uint64                       `json:"overflow"`
	InFlight            int64                        `json:"in_flight"`
	OldestTicketSeconds float64                      `json:"oldest_ticket_seconds"`
}

type adminGate struct {
	Capacity   int `json:"capacity"`
	Allocation int `json:"allocation"`
	HardCap    int `json:"hard_cap"`
	Critical   int `json:"critical"`
	Other      int `json:"other"`
}

type adminLadder struct {
	Level             float64 `json:"level"`
	Armed             bool    `json:"armed"`
	Exhausted         bool    `json:"exhausted"`
	HoldSeconds       float64 `json:"hold_seconds"`
	Read              bool    `json:"read"`
	Reading           float64 `json:"reading"`
	ReadingAgeSeconds float64 `json:"reading_age_seconds"`
	Source            string  `json:"source"`
}

type adminTable struct {
	Entries    int `json:"entries"`
	MaxEntries int `json:"max_entries"`
	Bytes      int `json:"bytes"`
}

type adminFleet struct {
	Instances       int     `json:"instances"`
	SyncAgeSeconds  float64 `json:"sync_age_seconds"` // -1: never in touch
	Shards          int     `json:"shards"`
	Down            int     `json:"down"`
	DownTimeSeconds float64 `json:"down_time_seconds"`
	Keys            int     `json:"keys"`
	Share           float64 `json:"share"`
	Debt            float64 `json:"debt"`
	Pending         int64   `json:"pending"`
	Acked           uint64  `json:"acked"`
	Resent          uint64  `json:"resent"`
	Duplicates      uint64  `json:"duplicates"`
	Lost            uint64  `json:"lost"`
	Deferred        uint64  `json:"deferred"`
	Errors          uint64  `json:"errors"`
	Restarts        uint64  `json:"restarts"`
	Quota           int     `json:"quota"`
	Base            int     `json:"base"`
	Capacity        float64 `json:"capacity"`
	Critical        int     `json:"critical"`
	Other           int     `json:"other"`
	Excess          int     `json:"excess"`
	LeaseValid      bool    `json:"lease_valid"`
}

func newAdminFleet(f engine.FleetSnapshot) *adminFleet {
	if !f.On {
		return nil
	}
	v := adminFleet{
		Instances: f.Instances, SyncAgeSeconds: f.SyncAge.Seconds(), Shards: f.Shards, Down: f.Down,
		DownTimeSeconds: f.DownTime.Seconds(), Keys: f.Keys, Share: f.Share, Debt: f.Debt, Pending: f.Pending,
		Acked: f.Acked, Resent: f.Resent, Duplicates: f.Duplicates, Lost: f.Lost, Deferred: f.Deferred,
		Errors: f.Errors, Restarts: f.Restarts, Quota: f.Quota, Base: f.Base, Capacity: f.Capacity,
		Critical: f.Critical, Other: f.Other, Excess: f.Excess, LeaseValid: f.LeaseValid,
	}
	if f.SyncAge < 0 {
		v.SyncAgeSeconds = -1
	}
	return &v
}

func newAdminView(s engine.Snapshot) adminView {
	v := adminView{
		At:           s.At,
		Targets:      adminTargets(&s),
		ClassRows:    adminClasses(&s),
		Limits:       make([]adminLimit, 0, len(s.Limits)),
		Unclassified: s.Unclassified,
		Gate: adminGate{
			Capacity: s.Gate.Capacity, Allocation: s.Gate.Allocation, HardCap: s.Gate.HardCap,
			Critical: s.Gate.Critical, Other: s.Gate.Other,
		},
		Ladder: adminLadder{
			Level: s.Ladder.Level, Armed: s.Ladder.Armed, Exhausted: s.Ladder.Exhausted,
			HoldSeconds: s.Ladder.Hold.Seconds(), Source: s.Ladder.Source,
		},
		Table:            adminTable{s.Table.Entries, s.Table.MaxEntries, s.Table.Bytes},
		Fleet:            newAdminFleet(s.Fleet),
		Faults:           s.Faults,
		UnguardedSeconds: s.Unguarded.Seconds(),
		Misuse:           map[string]uint64{},
	}
	if s.Ladder.ReadingAge >= 0 {
		v.Ladder.Read, v.Ladder.Reading, v.Ladder.ReadingAgeSeconds = true, s.Ladder.Reading, s.Ladder.ReadingAge.Seconds()
	}
	for kind, n := range series.Misuse(&s) {
		v.Misuse[kind] = n
	}
	for i := range s.Limits {
		l := &s.Limits[i]
		a := adminLimit{
			Name: l.Name, Removed: l.Removed, Overflow: l.Overflow, InFlight: l.InFlight,
			OldestTicketSeconds: l.OldestTicket.Seconds(),
			Refused:             map[string]map[string]uint64{},
			WouldRefuse:         map[string]map[string]uint64{},
		}
		for c := range l.Refused {
			for r := range l.Refused[c] {
				add(a.Refused, &a.RefusedTotal, engine.Class(c), engine.Reason(r), l.Refused[c][r])
				add(a.WouldRefuse, &a.WouldTotal, engine.Class(c), engine.Reason(r), l.WouldRefuse[c][r])
			}
		}
		v.Limits = append(v.Limits, a)
	}
	return v
}

// add counts n where there is something to count: the maps hold no zeros.
func add(to map[string]map[string]uint64, total *uint64, c engine.Class, r engine.Reason, n uint64) {
	if n == 0 {
		return
	}
	*total += n
	if to[c.String()] == nil {
		to[c.String()] = map[string]uint64{}
	}
	to[c.String()][r.String()] += n
}

// adminTargets lists what SetMode takes: everything at once, the layers in
// their order, and the limits.
func adminTargets(s *engine.Snapshot) []adminTarget {
	ts := []adminTarget{{Name: "all", Set: s.Modes["all"].String()}}
	for l := engine.Rate; l <= engine.Worker; l++ {
		ts = append(ts, adminTarget{Name: l.String(), Kind: "layer", Set: s.Modes[l.String()].String()})
	}
	for i := range s.Limits {
		l := &s.Limits[i]
		if !l.Removed {
			ts = append(ts, adminTarget{l.Name, l.Kind.String(), l.Layer.String(), s.Modes[l.Name].String(), l.Mode.String()})
		}
	}
	return ts
}

func adminClasses(s *engine.Snapshot) []adminClass {
	rows := make([]adminClass, 0, len(s.Admitted))
	at := map[engine.Class]*adminClass{}
	for c := engine.Test; c <= engine.Critical; c++ {
		rows = append(rows, adminClass{Class: c.String()})
		at[c] = &rows[len(rows)-1]
	}
	for l, n := range series.Decisions(s) {
		row := at[l.Class]
		if row == nil {
			continue
		}
		switch l.Layer {
		case engine.LayerNone:
			row.Admitted += n
		case engine.Rate:
			row.Rate += n
		case engine.Concurrency:
			row.Concurrency += n
		case engine.Fleet:
			row.Fleet += n
		case engine.Worker:
			row.Worker += n
		}
	}
	for l, n := range series.WouldRefuse(s) {
		if row := at[l.Class]; row != nil {
			row.Would += n
		}
	}
	return rows
}
