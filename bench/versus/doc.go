// Command versus measures weir beside the other Go libraries that limit rates
// or concurrency in process, on the same keys in the same run.
//
//	                 ┌─ child: weir               fill, then laps on command
//	parent ── turns ─┼─ child: x/time in xsync
//	   │             └─ child: …                  all but the one whose turn it is are stopped
//	   └── one table: ns, ratio to weir, allocations, bytes per key
//
// Every contestant is used in the fastest way that is still correct, which its
// note states, and has a process of its own: no one pays for another's garbage,
// and what its table takes is what its process grew by. Before it is timed, a
// contestant has to limit: of many keys that each ask more often than they may,
// from several goroutines, exactly the allowed number passes. Then its table is
// filled with every key, and the limit is set so high that no timed decision is
// refused; each one is looked at.
//
// A module of its own: none of these libraries becomes a dependency of weir.
package main
