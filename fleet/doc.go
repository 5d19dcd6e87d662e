// Package fleet shares limits between the instances of a service, through a
// store that they have in common and off the way of a request.
//
//	      request                       every 100 ms, give or take
//	         |                                    |
//	engine: charges a share     step: what is due of the marked keys
//	itself; else TakeKnown,                       |
//	or Peek, then Take                            |
//	         |                                    |
//	         v                                    v
//	table   entry ---- marked, once an exchange ----> lane, one per shard ---> Transport
//	        64 bytes                                  a numbered batch           |
//	         ^                                                                   v
//	         +------- fold: share, level, lease, places <------------------- reply
//
// A decision reads and writes one cache line of this process. The exchange
// tells the store what was spent and asked for, learns what all instances
// together have spent and asked for, and sets how this one goes on:
//
//	share.go   shares.go   a token bucket: charge every token as if the others spent in proportion
//	lease.go   leases.go   a strict bucket, a calendar quota: spend only what was leased
//	hold.go    places.go   in flight per key: hold places in a ledger while requests last
//	ledger.go              the gate's reservation: a lease of the fleet's allocation
//	fold.go                what a reply means, as a pure function
//	lane.go    circuit.go  batches, resends, outage and recovery, a shard at a time
//	loop.go    step.go     the goroutines, and what they do as a function of time
//	wire.go                what is exchanged; fleet/fleetredis carries it, fleet/fleettest models it
//
// What it promises, with N instances, a limit of r tokens a second and a burst
// of b, and the exchange every s (the tests are named after these):
//
//   - Redis up: over any long time r, exactly; in any window W at most b + r*W
//     and what N instances can spend before they have heard of each other: from
//     cold (sqrt(N)-1)*(b + r*s) by default, at least one request an instance.
//   - A batch counts once, however often it is sent and whatever is lost.
//   - Redis away: decisions go on at the same cost. After a second each instance
//     lives on its last share, at least 1/N of the limit ([engine.Sync] has the
//     alternatives); together at most 2*(b + r*t), and nothing is owed afterwards.
//   - What the fleet admits too much while the store answers is owed, up to the
//     burst, a second, or a token of each instance, whichever is most; so a limit
//     of fewer tokens than instances is exact in the long run too.
//   - Redis comes back, with or without its data: what is known to any instance
//     is restored.
//   - A strict limit is never exceeded, but for what was leased up to 4 s before
//     it was spent; a quota never at all.
//   - No more places of a strict in-flight limit are in use than there are, whatever
//     the store forgets, as long as no instance is cut off alone for longer than
//     [Reservation].Grace: then those cut off go on with what they had leased,
//     at most the limit once more.
//   - Keys of limits that only watch never keep one of an enforced limit out of
//     the table.
//   - Non-critical requests in flight never exceed the fleet's allocation, as
//     long as no request outlasts [Reservation].Request and no partition
//     [Reservation].Grace.
//
// No clock of an instance is ever compared with another's: what is sent is
// lengths of time, and moments are the store's own. The wall clock is read for
// nothing but the windows of calendar quotas.
package fleet
