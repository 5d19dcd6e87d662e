package front

import "github.com/weir-go/weir/engine"

// CallersDoing reports whether a refusal is due to what the caller itself did
// (429, RESOURCE_EXHAUSTED) and not to the server's state (503, UNAVAILABLE).
func CallersDoing(r engine.Reason) bool {
	return r == engine.Limited || r == engine.Full || r == engine.NeverFits
}

// Detail says in a sentence what a refusal for the reason means to the caller.
func Detail(r engine.Reason) string {
	switch r {
	case engine.Limited:
		return "The caller has used up this limit."
	case engine.Full:
		return "The caller has too many requests in progress."
	case engine.NeverFits:
		return "The request costs more than this limit can ever grant."
	case engine.Reserved:
		return "The remaining capacity is kept for critical requests."
	case engine.Shed:
		return "Requests of this class are being shed."
	case engine.Closed:
		return "The limiter cannot decide, and this limit refuses then."
	}
	return ""
}

// RefusalID is what refusals with the same text share. A configuration has as
// many as it has limits, times the reasons: no client can add one.
type RefusalID struct {
	Layer  engine.Layer
	Reason engine.Reason
	Limit  engine.LimitID
}

// ID returns the decision's RefusalID.
func ID(d engine.Decision) RefusalID { return RefusalID{d.Layer, d.Reason, d.Limit} }
