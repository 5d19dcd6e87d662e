// Package policy turns a written policy into an engine configuration and the
// bindings from a transport's requests to claims.
//
//	policy.yaml ──Load──> Policy ──Config──> engine.Config ──> Engine
//	      │                  └────New────> Bound ──Bind──> engine.Request, per request
//	      └──────────────Watch──────────────^ Swap: configuration and bindings together
//
// A service loads its policy, makes the engine from it, and gives the binding to
// its transport:
//
//	p, err := policy.Load("policy.yaml")
//	e, err := engine.New(p.Config())
//	b, err := policy.New(e, p)
//	go policy.Watch(ctx, "policy.yaml", b)
//	handler := weirhttp.Handler(e, b, weirhttp.Mux(mux))(mux)
//
// It promises:
//
//   - A file that is wrong in any way is refused whole, with every fault's line,
//     column and field; an unknown, doubled or empty field is a fault.
//   - A file that is cut off is refused, wherever it was cut.
//   - A reload changes configuration and bindings together and refuses nobody;
//     limits that did not change keep their state.
//   - A request without a part of its key follows the limit's written policy and
//     never shares a bucket by accident.
//   - The service's own code that panics on a request makes its limit follow its
//     fail policy; the panic goes no further.
//   - Binding allocates nothing, unless a value must be folded.
//
// # The file
//
// Everything is optional but what a limit needs to count; nothing is on that the
// file does not name. loadgen check prints what a file means.
//
//	default_class: read            # test, read, write or critical: what a request without a class counts as
//	max_entries: 1048576           # (limit, key) states; fixes the memory, about 27 bytes each
//	trusted_proxies: [10.0.0.0/8]  # whose X-Forwarded-For is read, from the right
//	exempt: [/healthz]             # exact paths that no layer touches
//	class_header: {name: X-Class, from: [10.0.0.0/8]} # a class that trusted peers pass on
//	classes:                       # the first rule that matches gives the class
//	  - {class: test, credential: header Authorization | bearer, prefix: [sk_test_]}
//	  - {class: critical, routes: [POST /v1/charges]}
//	  - {class: read, methods: [GET]}
//	limits:                        # every limit that is for a request must pass, at most 8
//	  NAME:
//	    routes: ["GET /users/{id}"] # patterns as for http.ServeMux; none: every route
//	    methods: [GET, POST]       # HEAD is GET
//	    key: [address, route]      # who is counted together; all: everybody
//	    missing: address           # a part is missing: another part, skip or refuse
//	    kind: token_bucket         # or quota, sliding, in_flight, block, unlimited
//	    rate: 10/s                 # N/ms, s, min, h, day, month or N/20s; or N and a window beside it
//	    window: day                # with rate: N
//	    burst: 20                  # token_bucket; without it as much as the rate's number
//	    post_paid: true            # the cost is an estimate, settled afterwards
//	    zone: Europe/Berlin        # quota; without it UTC
//	    reset_at: "06:00"          # quota by day or month
//	    max: 20                    # in_flight
//	    retry_after: 2s            # in_flight: what a refusal tells the client
//	    cost: 5                    # or {from: header X-Cost, max: 10, default: 1}
//	    plan: extract plan         # the name of the caller's plan
//	    default_plan: free
//	    plans: {free: 10/s, pro: {rate: 100/s, burst: 300}}
//	    overrides:                 # other numbers or another mode for a few keys
//	      SALE: {keys: [acme], rate: 500/s, until: 2026-12-24T18:00:00Z}
//	    mode: enforce              # or shadow, off, or {enabled: 50%, enforced: 10%} of the enabled
//	    fail: open                 # or closed: what a fault of weir's own does
//	    overflow: shared           # or open, closed: a key that the table has no room for
//	    sync: share                # or strict, or {mode, on_stale, floor, grace, cold}: see package fleet
//	gate: {capacity: 200, reserve: 20%, hard_cap: 400, mode: enforce, retry_after: 1s}
//	ladder: {mode: shadow, retry_after: 5s}
//	...
//
// The parts of a key are address (of the client: IPv4 /32 and IPv6 /64, or
// address/24/56), route (the pattern, never the path), method, identity (what
// the transport's authentication established), header NAME, query NAME, path
// NAME, api_key HEADER (the identity if there is one, else the header),
// fingerprint HEADER (only beside an address) and extract NAME (a function given
// with [Extract]). "| fold" makes case, blanks and Unicode forms make no
// difference, "| bearer" takes the scheme off an Authorization header. A part
// that is empty or longer than 4096 bytes is missing.
//
// Plans, overrides and refusals of missing parts are limits of their own in
// metrics, answers and kill switches: "api.free", "api.SALE" ("api.free.SALE"
// when it changes the mode alone) and "api.missing". A caller whose plan changes
// begins afresh under the new one. A limit's mode that was set at run time stays
// through reloads until the file's own mode changes.
package policy
