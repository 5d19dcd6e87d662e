// Package bucket is the state of one key: every kind of limiter is a pure step
// on one 64-bit word.
package bucket
