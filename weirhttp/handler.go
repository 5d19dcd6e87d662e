package weirhttp

import (
	"net/http"

	"github.com/felixge/httpsnoop"
	"github.com/puzpuzpuz/xsync/v3"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front"
	"github.com/weir-go/weir/policy"
)

// Handler returns a middleware that asks e about every request, as b describes
// it. An admitted request runs the handler and gives back what it holds when
// the handler returns (or later: [Detach]); a refused one is answered with
//
//   - 429 for what the caller did: Limited, Full, NeverFits;
//   - 503 for the server's state: Reserved, Shed, Closed;
//   - Retry-After in whole seconds, rounded up and at least 1, unless waiting
//     does not help;
//   - an application/problem+json body with the members reason, layer and limit.
//
// How the handler ended is told to e as follows: the request's context past
// its deadline is Dropped, the client gone is Ignored, a panic is Dropped, and
// with [ObserveStatus] a status of 500 or more is too; anything else is Success.
//
// If b is a [policy.Exempter], what it exempts passes without a decision. With a
// nil b a request has no claims and no class, and meets layers 3 and 4 only. A
// nil e panics, and so does an option that cannot be meant, here and not on the
// first request.
func Handler(e *engine.Engine, b policy.Binder, opts ...Option) func(http.Handler) http.Handler {
	if e == nil {
		panic("weirhttp: Handler: nil engine")
	}
	c := newConfig(b, opts)
	if err := c.draft.check(); err != nil {
		panic("weirhttp: Handler: " + err.Error())
	}
	d := &door{config: c, engine: e, refusals: xsync.NewMapOf[front.RefusalID, *refusal]()}
	d.guard = front.NewGuard(e, b, d.log)
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.serve(w, r, next) })
	}
}

// door is the state of one Handler; everything that the same middleware wraps
// shares it.
type door struct {
	config
	engine *engine.Engine
	guard  *front.Guard
	// refusals are the answers that have been needed; reading one takes no lock.
	refusals *xsync.MapOf[front.RefusalID, *refusal]
}

func (d *door) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if d.free(r) {
		next.ServeHTTP(w, r)
		return
	}
	x := &front.Exchange{Context: r.Context()}
	a := attrsPool.Get().(*attrs)
	*a = attrs{c: &d.config, r: r}
	decided := d.guard.Admit(a, &x.Ticket)
	*a = attrs{} // the pool keeps no request alive
	attrsPool.Put(a)
	switch {
	case !decided:
		next.ServeHTTP(w, r)
	case x.Ticket.OK():
		d.run(w, r, next, x)
	default:
		defer x.End(engine.Ignored)
		d.refuse(w, r, x.Ticket.Decision())
	}
}

// free reports whether the request passes without a decision: an exempt path,
// or a CORS preflight, which a browser sends before the request that counts
// and whose refusal no script could read.
func (d *door) free(r *http.Request) bool {
	if _, ok := d.exempt[r.URL.Path]; ok {
		return true
	}
	return r.Method == http.MethodOptions &&
		r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// run calls the handler and ends the ticket, however the handler ends: the
// deferred call runs on return, on a panic (http.ErrAbortHandler among them)
// and on runtime.Goexit, and recovers nothing.
func (d *door) run(w http.ResponseWriter, r *http.Request, next http.Handler, x *front.Exchange) {
	failed := func() bool { return false }
	if d.observe {
		w, failed = observe(w)
	}
	returned := false
	defer func() { x.End(front.Outcome(x.Context, returned && !failed())) }()
	d.fields(w, x.Ticket.Decision())
	next.ServeHTTP(w, r.WithContext(x))
	returned = true
}

// observe wraps w; the function tells whether the answer had a status of 500 or
// more.
func observe(w http.ResponseWriter) (http.ResponseWriter, func() bool) {
	status := 0
	wrapped := httpsnoop.Wrap(w, httpsnoop.Hooks{
		WriteHeader: func(write httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
			return func(code int) {
				if status < http.StatusOK { // nothing yet, or informational
					status = code
				}
				write(code)
			}
		},
	})
	return wrapped, func() bool { return status >= http.StatusInternalServerError }
}
