// Package gate is how many may be inside the process at once: a share of the
// capacity is always kept for critical requests.
//
//	[ critical 32 | other 32 ]     one word, one compare-and-swap checks both caps
//
// Non-critical requests in flight never exceed floor((1-reserve)*capacity),
// under any interleaving. Critical ones are bounded by the hard cap alone, when
// there is one.
package gate
