// Package series reads an engine's Snapshot as the time series that every
// metrics system is given: the same labels and the same sums everywhere. The
// number of series follows from the configuration alone.
package series

import (
	"iter"

	"github.com/weir-go/weir/engine"
)

// Labels tell the series of one counter apart. All are from closed sets: limit
// names from the configuration, the rest enumerations.
type Labels struct {
	Limit  string // "" when no limit is concerned
	Layer  engine.Layer
	Class  engine.Class
	Reason engine.Reason
}

// Decisions yields how many requests were decided in which way. Every request
// is in one series, so that the sum is the number of requests.
func Decisions(s *engine.Snapshot) iter.Seq2[Labels, uint64] {
	return func(yield func(Labels, uint64) bool) {
		for c, n := range s.Admitted {
			l := Labels{Class: engine.Class(c), Reason: engine.Admitted}
			if shown(l.Class, n) && !yield(l, n) {
				return
			}
		}
		refusals(s, func(l *engine.LimitSnapshot) counts { return l.Refused }, s.Gate.Refused, s.Ladder.Refused)(yield)
	}
}

// WouldRefuse yields how many requests a limit or a layer in shadow would have
// refused. One request can be in several series.
func WouldRefuse(s *engine.Snapshot) iter.Seq2[Labels, uint64] {
	return refusals(s, func(l *engine.LimitSnapshot) counts { return l.WouldRefuse }, s.Gate.WouldRefuse, s.Ladder.WouldRefuse)
}

type (
	classes = [int(engine.Critical) + 1]uint64
	counts  = [int(engine.Critical) + 1][int(engine.Closed) + 1]uint64
)

func refusals(s *engine.Snapshot, of func(*engine.LimitSnapshot) counts, gate, ladder classes) iter.Seq2[Labels, uint64] {
	return func(yield func(Labels, uint64) bool) {
		for i := range s.Limits {
			limit := &s.Limits[i]
			for c, reasons := range of(limit) {
				for r, n := range reasons {
					l := Labels{limit.Name, limit.Layer, engine.Class(c), engine.Reason(r)}
					if (possible(limit.Kind, l.Reason) && shown(l.Class, 0) || n > 0) && !yield(l, n) {
						return
					}
				}
			}
		}
		for c := range gate {
			l := Labels{Layer: engine.Fleet, Class: engine.Class(c), Reason: engine.Reserved}
			if shown(l.Class, gate[c]) && !yield(l, gate[c]) {
				return
			}
		}
		for c := range ladder {
			l := Labels{Layer: engine.Worker, Class: engine.Class(c), Reason: engine.Shed}
			if shown(l.Class, ladder[c]) && !yield(l, ladder[c]) {
				return
			}
		}
	}
}

// shown reports whether the class has a series: unset has none unless it
// counted something, because a request without a class counts as the default.
func shown(c engine.Class, n uint64) bool { return c != engine.ClassUnset || n > 0 }

// possible reports whether a limit of the kind refuses for the reason in
// ordinary operation. Those series exist from the start, at 0, so that the
// first refusal is a rise and not a birth.
func possible(k engine.Kind, r engine.Reason) bool {
	switch k {
	case engine.Unlimited:
		return false
	case engine.Block:
		return r == engine.Limited
	case engine.InFlight:
		return r == engine.Full || r == engine.NeverFits || r == engine.Closed
	}
	return r == engine.Limited || r == engine.NeverFits || r == engine.Closed
}

// Misuse yields the counters of calls that broke the API's contract.
func Misuse(s *engine.Snapshot) iter.Seq2[string, uint64] {
	return func(yield func(string, uint64) bool) {
		m := &s.Misuse
		_ = yield("negative_cost", m.Negative) &&
			yield("too_many_claims", m.TooMany) &&
			yield("unknown_limit", m.UnknownLimit) &&
			yield("limit_twice", m.Twice) &&
			yield("double_done", m.DoubleDone) &&
			yield("settle", m.Settle)
	}
}

// Place tells the gauges of requests in flight apart. Layer Fleet has the
// classes "critical" and "other", the limits have none.
type Place struct{ Limit, Layer, Class string }

// InFlight yields how many requests hold a place now, by who keeps it.
func InFlight(s *engine.Snapshot) iter.Seq2[Place, int64] {
	return func(yield func(Place, int64) bool) {
		for i := range s.Limits {
			if l := &s.Limits[i]; l.Kind == engine.InFlight && !yield(Place{l.Name, l.Layer.String(), ""}, l.InFlight) {
				return
			}
		}
		fleet := engine.Fleet.String()
		_ = yield(Place{"", fleet, "critical"}, int64(s.Gate.Critical)) &&
			yield(Place{"", fleet, "other"}, int64(s.Gate.Other))
	}
}

// Modes yields the mode in force of every limit and of the layers that have no
// limits; Class and Reason are unset.
func Modes(s *engine.Snapshot) iter.Seq2[Labels, engine.Mode] {
	return func(yield func(Labels, engine.Mode) bool) {
		for i := range s.Limits {
			if l := &s.Limits[i]; !yield(Labels{Limit: l.Name, Layer: l.Layer}, l.Mode) {
				return
			}
		}
		_ = yield(Labels{Layer: engine.Fleet}, s.Gate.Mode) &&
			yield(Labels{Layer: engine.Worker}, s.Ladder.Mode)
	}
}
