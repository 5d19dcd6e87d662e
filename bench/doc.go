// Package bench holds the benchmarks that no change may make worse; it has no
// code of its own.
//
//	internal/workload   who asks: keys, their order, the engines they ask
//	internal/laps       contestants measured in turns, in one run
//	*_test.go           the gated benchmarks            make bench
//	gate/               two revisions in turns          make bench-gate BASE=main
//	budget/             weir against its own budgets    part of make perf-doc
//	versus/             weir against other libraries    make bench-versus
//	perfdoc/            the tables of docs/perf.md      make perf-doc
//
// A benchmark's name says all that was chosen, in /key=value parts that
// golang.org/x/perf can project: keys (how many), dist (how they are drawn),
// cores (GOMAXPROCS), layers (which of weir's layers are configured), state
// (known: every key has been seen; new: none has; evicting: none is in the full
// table, and each takes the place of an idle one; refused; contended: all cores
// on one key). A decision is the whole of what a caller pays: the key's
// identity from its text, Admit, Done. The sizes of 10M are run only with -full.
package bench
