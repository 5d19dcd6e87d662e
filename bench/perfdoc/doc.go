// Command perfdoc puts measured figures into docs/perf.md: it rewrites what
// stands between markers and leaves every other word alone.
//
//	budget.json ──┐
//	versus.json ──┼── <!-- table: name --> … <!-- end --> ──> docs/perf.md
//	verdicts.json ┤                                       └─> docs/perf-keys.svg, docs/perf-memory.svg
//	profile.txt ──┘
//
// The files come from bench/budget, bench/versus, bench/gate and pprof; make
// perf-doc runs these first.
package main
