//go:build race

package plant_test

// seeds is how many seeds a test run gives each scenario: the race detector
// makes a run ten times slower and has one goroutine to look at.
const seeds = 2
