package ladder

import "time"

// Reading is one value of the load signal.
type Reading struct {
	Value float64   // utilisation: 1 means every worker is busy; above 1 is queueing
	At    time.Time // when it was measured
	OK    bool      // false: the sensor has nothing to say; never read as idle
}

// Config holds the constants of the law.
type Config struct {
	Tick time.Duration
}

// Default returns the constants that the stability tests were run with.
func Default() Config { return Config{Tick: time.Second} }
