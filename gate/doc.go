// Package gate is how many may be inside the process at once: a share of the
// capacity is always kept for critical requests.
//
//	[ room for anyone 32 | room for others 31 | apart 1 ]   one word: one compare-and-swap
//	           ▲ gather (nobody finds a place)              checks both caps
//	           │            ▼ spread (plenty of room)
//	[ critical 32 | places 31 | open 1 ]  [ … ]  [ … ]      stripes: places that somebody
//	                                                        left, for who comes that way
//
// Non-critical requests in flight never exceed floor((1-reserve)*capacity),
// under any interleaving, and none is refused while there is a place. Critical
// ones are bounded by the hard cap alone, when there is one.
package gate
