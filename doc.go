// Package weir is the map of the rooms; it holds no code.
//
// weir decides, inside the caller's process, whether one request may start
// now. A request passes four layers: a rate limit per key, a concurrency limit
// per key, a share of the process that is kept for critical traffic, and a
// damped ladder that sheds from the bottom when the workers are saturated.
//
//	policy ─ weirhttp ─ weirgrpc ─ fleet ─ weirprom ─ weirotel    adapters: one outside thing each
//	     \________|________|_________|________/
//	                     engine                                  Config -> Engine -> Admit -> Ticket -> Done
//	          ______________|______________
//	       ladder      gate      shard ── bucket, key            pure rooms
//
// Start reading in [github.com/weir-go/weir/engine]: its Admit is the way of
// one request, and every other room is a step of it.
package weir
