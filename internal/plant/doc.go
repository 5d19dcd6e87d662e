// Package plant is an overloaded service in virtual time: arrivals, keys, a
// queue, a pool of workers, clients that retry, a late and noisy sensor, and the
// real ladder in the loop.
//
//	arrivals ──> ladder's word ──> queue ──> workers ──> answered
//	   ^             │ shed          │ too late, full       │
//	   └── retries <─┴───────────────┘                      │
//	                 ^                                      │
//	              Ladder.Tick <── delay, noise <── sensor <─┘
//
// It is what the ladder's published stability limits are measured in: nine
// scenarios (scenarios.jsonl) and the limits each must meet. Events are exact in
// time and a seed gives the same run everywhere; arrivals do not depend on the
// controller, so two controllers can be compared on the same incident.
package plant
