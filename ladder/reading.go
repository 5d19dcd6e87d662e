package ladder

import (
	"math"
	"time"
)

// Reading is one value of the load signal.
type Reading struct {
	// Value is the utilisation: 0.8 is where bad begins, 1 means every worker is
	// busy, above 1 there is a queue. NaN, infinite and negative values are no
	// reading.
	Value float64
	// At is when it was measured. Its age bounds how fast the ladder moves, and a
	// reading that is not newer than the last one is no reading, so a sensor that
	// hangs is found out. Zero stands for "now": then it cannot be.
	At time.Time
	// OK is false when the sensor has nothing to say. That is not idleness: a
	// sensor that fails must never report 0.
	OK bool
}

// usable reports whether the reading holds a value at all.
func (r Reading) usable() bool {
	return r.OK && r.Value >= 0 && !math.IsInf(r.Value, 1)
}

// ramp maps a delay or a share onto the scale of a utilisation: 0.8 at target,
// 1 at full, on in a straight line above.
func ramp(v, target, full float64) float64 {
	if v <= target {
		return 0.8 * v / target
	}
	return 0.8 + 0.2*(v-target)/(full-target)
}
