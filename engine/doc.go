// Package engine is the one front door: Config -> Engine -> Admit -> Ticket ->
// Done.
//
//	Admit    admit.go     the order of a decision
//	 ├─      express.go   the same for the common request; expressrefuse.go: its refusals;
//	 │                    expresssync.go: with claims that a fleet shares
//	 ├─      plan.go      the configuration, resolved: all that a decision reads of it
//	 ├─      resolve.go   what is claimed: limits, modes, fail policies
//	 ├─      step.go      one claim: look, charge, undo, on the table or with the fleet
//	 ├─      layers.go    layer 4, the ladder; layer 3, the gate
//	 └─      answer.go    who refuses and for how long; counts; shadow limits
//	Ticket   draft.go     a ticket in the making
//	 └─      ticket.go    what is held; Done, Settle; record.go: more than a ticket has room for
//	Swap     swap.go      a new configuration for the same keys; build.go: what is wrong with it
//	time     clock.go     published and true time; ticker.go: what happens by time
//	faults   fail.go      what happens when weir itself fails
//	beside   beside.go    Do, Wait, Peek, Explain
//
// What it promises:
//
//   - All or nothing: a refused request charges no limit, up to what the undo of a
//     lost race withholds.
//   - The reasons have an order: a key over its own limit is told so (429) even
//     while a layer sheds (503).
//   - A shadow limit changes nothing but its own state and counters.
//   - Whatever fails inside, a request is admitted, or refused with reason Closed
//     where its limit fails closed; nothing reaches the caller, and the ticker
//     does not end the process.
//   - Admit and Done allocate nothing, but for records when more tickets that need
//     one are open at once than ever before. They wait on nobody, but for short
//     locks: of a key's shard at its first sight, of the gate at the moment when its
//     room gets scarce, and where records are made.
//   - Done works after Close, after Swap and after its limit was removed.
//
// # Which verb
//
// Behind HTTP or gRPC none of them: weirhttp and weirgrpc ask and give back. Most
// others want Admit and a deferred Done, or Do, which is both around a function.
// They differ in what happens to a request that may not start: Admit and Do
// refuse it, for a server that answers at once; Wait asks again until the
// context ends, for jobs and clients that have time. Peek is Admit without
// effect, for a look ahead; Explain says what every limit and layer makes of a
// request, for people.
//
// # Testing a service that uses it
//
// Give the engine a ManualClock and move it: limits refill, the ladder ticks
// and quotas end in the test's own goroutine, with no sleep. With a Secret
// that stays the same, ramps and sheds hit the same keys in every run.
//
// # Limits, keys and classes
//
// Limits, keys and classes are the caller's: see [Config], [Request] and [Class].
// Time is published about once a millisecond; what that means is said at
// [Config.PreciseClock] and, with the bound that follows, in docs/design.md.
package engine
