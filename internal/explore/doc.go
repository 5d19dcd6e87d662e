// Package explore runs a small concurrent program through every interleaving
// of its atomic operations.
//
// It is built with the tag explore, which puts a scheduler behind the types of
// internal/atom; the functions under test are the very ones that production
// calls. The goroutines of a [Scenario] run one at a time. Before each atomic
// operation on a word that is contended (one thread writes it, another touches
// it) the scheduler decides who goes on; it tries every decision by depth-first
// search, executing the program again from its start for each branch, and
// leaves a branch when it has been in the same state before. Which words are
// contended is found out on the way; each find starts the exploration again.
//
//	thread A   load ─┬─ cas ─── done            a path is a schedule: the thread
//	thread B         └─ load ─ cas ─ load ─ …    that moves, move by move
//
// A state is the contents of every word and lock that was ever written,
// together with a hash of all that each thread has seen so far and how many
// operations it has done. Threads are deterministic in what they see, so two
// executions in the same state have the same futures, and pruning loses
// nothing. (States are told apart by 64-bit hashes: a million of them collide
// with a probability below 1e-7.)
//
// What follows from that for a scenario: threads talk to each other only
// through words, locks and data guarded by locks; they use no clock, map order
// or random number; and checks look at states (contents and results), never at
// the order in which things happened, unless a thread notes it in a word.
package explore
