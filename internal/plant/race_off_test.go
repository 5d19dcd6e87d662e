//go:build !race

package plant_test

const (
	// raced is whether the race detector watches.
	raced = false
	// seeds is how many seeds a plain test run gives each scenario.
	seeds = 10
)
