// Package drive plays a load against a target in an open loop: every request
// is sent when it is due, whether or not those before it have been answered,
// and its latency counts from then. What the generator itself could not do is
// counted: late starts, and requests skipped because too many were in flight.
// Offered is always sent plus skipped.
package drive
