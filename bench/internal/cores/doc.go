// Package cores gives each goroutine of a benchmark a core to itself. Left to
// the system, two busy threads may share one core for longer than a lap takes
// while the other is idle: the figures of two cores are then those of one.
package cores
