// Command gate says whether a change made weir slower: it builds the benchmarks
// of a base revision and of the working tree, runs the two binaries in turns,
// and compares.
//
//	base (git worktree) ──go test -c──> base.test ─┐ per benchmark: base head head base base …
//	working tree ───────go test -c──> head.test ─┘    │
//	                                   median, Mann-Whitney ──> a verdict each ──> exit status
//
// Two runs one after the other measure the machine's mood as much as the code.
// So no time is ever stored: both binaries run now, within a second of each
// other, and the order within a pair changes with every pair. The fastest of a
// few short runs is one sample, because what disturbs a run only ever makes it
// slower. A benchmark fails when
//
//   - its time per operation, on the wall or of the processor (which a
//     benchmark may report in cpu-ns/op, and weir's do), rose by more than the
//     threshold and the Mann-Whitney test calls the two sets of samples
//     different, or
//   - its allocations or bytes rose at all (a figure that is not the same in
//     every run must differ by the same test), or
//   - it is gone from the working tree,
//
// and fails again when it is measured anew: the first measurement only names
// suspects. A time whose samples scatter by more than the threshold is called
// noisy, which is said but does not fail. The processor's time seldom is: it
// stands still while something else has the core.
//
// The exit status is 0 when nothing failed, 1 when something did and 2 when the
// comparison could not be made.
package main
