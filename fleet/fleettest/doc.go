// Package fleettest is the store of a fleet without a server: a model in Go of
// the scripts of fleetredis, on a clock that the test moves.
//
// A [Store] follows the scripts number for number (a test compares the two on
// random batches), and as a fleet.Transport it can be cut, slowed and made to
// lose replies, so that a fleet can be simulated in one process.
package fleettest
