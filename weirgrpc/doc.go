// Package weirgrpc translates gRPC calls into requests to the engine and the
// engine's decisions into gRPC statuses, on the server's side and on the
// client's.
//
//	call ─> exempt? ──yes──────────────────────────────────> handler
//	           └─no─> Binder ─> Admit ─┬─ admitted ────────> handler ─> Done
//	                                   └─ refused ──> RESOURCE_EXHAUSTED or UNAVAILABLE
//
// It promises:
//
//   - What a call holds is given back exactly once: when its handler ends, by
//     whatever way; on the client's side when the call or its stream ends; or,
//     after [Detach], when the work that outlives the call says so.
//   - A refusal names its layer and its limit, and never a key. Its details
//     (RetryInfo, ErrorInfo, QuotaFailure) are built once and kept.
//   - A refusal is not retried by the client's retry policy where a retry
//     cannot help or would add load: see [UnaryServer].
//   - A fault before the handler ran lets the call pass.
//
// connect-go's handlers are http.Handlers: guard them with weirhttp.
package weirgrpc
