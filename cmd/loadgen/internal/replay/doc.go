// Package replay reads recorded traffic and plays it through an engine on a
// simulated clock: a dark launch on yesterday's requests.
//
//	Reader    lines of a log, in several formats, to Events; what is wrong is counted
//	Simulate  Events through an engine: who would have been refused, and by what
//	Needs     how large a burst each user's traffic needs at a given rate
package replay
