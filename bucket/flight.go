package bucket

import "fmt"

// In flight: [generation 32 | count 24]. Counts repeat, so the generation,
// which advances with every birth, tells the words of one key's life in a slot
// from another's: a handle of (slot, version, generation) is all a release
// needs.
const (
	flightBits = 24
	flightMax  = 1<<flightBits - 1
	flightGen  = 1<<32 - 1
)

// NewFlight returns the rule of at most limit requests at once, 1 to
// 16,777,214.
func NewFlight(limit int64) (Rule, error) {
	if limit < 1 || limit >= flightMax {
		return Rule{}, fmt.Errorf("max %d: must be from 1 to %d", limit, int64(flightMax-1))
	}
	return Rule{Kind: Flight, max: limit}, nil
}

// InUse returns the count of an in-flight word.
func InUse(w uint64) int64 { return int64(w & flightMax) }

// Life returns what stays the same in an in-flight word from one birth to the
// next: its version and generation.
func Life(w uint64) uint64 { return w >> flightBits }

// FlightPart returns an in-flight word of the same life that counts n alone.
func FlightPart(w uint64, n int64) uint64 { return w&^flightMax | uint64(n) }

// TakeFlight is Take for a Flight.
func (r *Rule) TakeFlight(w uint64, cost int64) (next uint64, ok bool) {
	if InUse(w)+cost > r.max {
		return w, false
	}
	return w + uint64(cost), true
}

func undoFlight(w uint64, cost int64) uint64 { return w - uint64(min(cost, InUse(w))) }
