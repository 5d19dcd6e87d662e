//go:build race

package plant_test

// A run is one goroutine, ten times slower under the race detector: it has one
// scenario and one seed to look at, and the plain run has all of them.
const (
	raced = true
	seeds = 1
)
