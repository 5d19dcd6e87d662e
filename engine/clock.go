package engine

import (
	"sync"
	"time"
)

// Clock is the time an engine runs on.
type Clock interface {
	// Now is the time since an arbitrary start. It never goes back and does not
	// follow steps of the wall clock.
	Now() time.Duration
	// Wall is the time of day, which calendar quotas follow.
	Wall() time.Time
}

// realClock measures from the moment the engine was made: a start kept in a
// package variable would lie outside a testing/synctest bubble.
type realClock struct{ epoch time.Time }

func (c realClock) Now() time.Duration { return time.Since(c.epoch) }
func (c realClock) Wall() time.Time    { return time.Now() }

// ManualClock is a Clock that stands still until it is moved, for tests and
// simulations. Its methods are safe for concurrent use.
type ManualClock struct {
	mu    sync.Mutex
	now   time.Duration
	wall  time.Time
	ticks []func(now time.Duration)
}

// NewManualClock returns a clock whose wall time is the given one.
func NewManualClock(wall time.Time) *ManualClock { return &ManualClock{wall: wall} }
