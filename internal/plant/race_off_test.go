//go:build !race

package plant_test

// seeds is how many seeds a plain test run gives each scenario.
const seeds = 10
