// Package engine is the one front door: Config -> Engine -> Admit -> Ticket ->
// Done.
package engine
