// Package arrival says when each request of a load is due: absolute times from
// the start, computed from the request's number and never from the time of the
// request before, so that nothing drifts and a slow target moves nothing.
//
//	Curve   the rate over time, seen through its inverse     pure
//	Plan    due times in order: Even or Poisson over a Curve, or Replay
package arrival
