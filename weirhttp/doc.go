// Package weirhttp translates HTTP requests into requests to the engine and
// the engine's decisions into HTTP.
//
//	request ─> free? ──yes───────────────────────────────> handler
//	             └─no─> Binder ─> Admit ─┬─ admitted ─────> handler ─> Done
//	                                     └─ refused ──> 429 or 503, Retry-After, problem+json
//
// It promises:
//
//   - What a request holds is given back exactly once: when the handler returns,
//     panics, ends its goroutine or aborts; or, after [Detach], when the work
//     that outlives the response says so.
//   - The ResponseWriter reaches the handler as it came, so that flushing,
//     hijacking and deadlines work ([ObserveStatus] is the one exception).
//   - A fault before the handler ran (a Binder that panics, say) lets the
//     request pass: the limiter must not become the outage.
//   - A refusal names its layer and its limit, and never a key.
//
// [Transport] guards a dependency on the client's side. [Admin] shows an engine,
// and [AdminControl] changes its modes at run time.
//
// CORS preflights and the paths given to [Exempt] are free. HEAD counts as GET.
package weirhttp
