package engine

import (
	"time"

	"github.com/weir-go/weir/gate"
)

// Reason says why a request was admitted or refused. The set is closed, so a
// reason is fit for a metric label.
type Reason uint8

// The reasons. Limited, Full and NeverFits are the caller's doing (429,
// RESOURCE_EXHAUSTED); Reserved, Shed and Closed are the server's state (503,
// UNAVAILABLE).
const (
	Admitted  Reason = iota
	Limited          // a rate, quota or window of the key is spent
	Full             // too many requests of the key are in flight
	NeverFits        // the cost is larger than the limit can ever hold
	Reserved         // what is left of the process is kept for critical traffic
	Shed             // the ladder is shedding this class
	Closed           // the limiter itself failed and the limit fails closed

	numReasons = int(Closed) + 1
)

var reasonNames = [numReasons]string{"admitted", "limited", "full", "never_fits", "reserved", "shed", "closed"}

// String returns the reason's name in snake case.
func (r Reason) String() string {
	if int(r) < numReasons {
		return reasonNames[r]
	}
	return "unknown"
}

// Layer is one of the four layers of admission.
type Layer uint8

// The layers, in the order in which they are numbered everywhere.
const (
	LayerNone   Layer = iota
	Rate              // 1: how many requests of a key per time
	Concurrency       // 2: how many requests of a key at once
	Fleet             // 3: the share of capacity kept for critical traffic
	Worker            // 4: the damped ladder

	numLayers = int(Worker) + 1
)

var layerNames = [numLayers]string{"none", "rate", "concurrency", "fleet", "worker"}

// String returns the layer's name in lower case.
func (l Layer) String() string {
	if int(l) < numLayers {
		return layerNames[l]
	}
	return "unknown"
}

// Decision is the answer to a request, as numbers; transports turn it into
// status codes and text.
type Decision struct {
	Reason Reason
	Layer  Layer   // the layer that refused; LayerNone when admitted
	Limit  LimitID // the limit that refused, of several the one that gates; when admitted, the tightest, of equals the one with the lower handle
	// RetryAfter is how long to wait before the same request can pass, never
	// shorter than the truth: the maximum over all limits that refused. 0 when
	// admitted, -1 when waiting does not help.
	RetryAfter time.Duration
	// Remaining is what is left of the tightest claim, in that claim's units,
	// after this decision; -1 when the request had no claim that counts.
	Remaining int64
}

// tighten makes the claim on the limit the one that the decision tells of, if it
// is the tightest so far.
func (d *Decision) tighten(left int64, id LimitID) {
	if d.Limit == 0 || left < d.Remaining || left == d.Remaining && id < d.Limit {
		d.Remaining, d.Limit = left, id
	}
}

// OK reports whether the request was admitted.
func (d Decision) OK() bool { return d.Reason == Admitted }

// Outcome is how an admitted request ended.
type Outcome = gate.Outcome

// The outcomes. An adaptive limit learns from Success and Dropped and passes
// over Ignored.
const (
	Success = gate.Success // finished, whatever it answered
	Dropped = gate.Dropped // overload: timed out, refused further in, panicked
	Ignored = gate.Ignored // says nothing about load: the client went away
)
