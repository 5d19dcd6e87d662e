package weirhttp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/felixge/httpsnoop"

	"github.com/weir-go/weir/engine"
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
// its deadline, or a panic, is Dropped; the client gone is Ignored; anything
// else is Success, and with [ObserveStatus] a status of 500 or more is Dropped.
//
// With a nil b a request has no claims and no class, and meets layers 3 and 4
// only. A nil e panics, here and not on the first request.
func Handler(e *engine.Engine, b policy.Binder, opts ...Option) func(http.Handler) http.Handler {
	if e == nil {
		panic("weirhttp: Handler: nil engine")
	}
	if b == nil {
		b = policy.BinderFunc(func(_ policy.Attrs, dst []engine.Claim) engine.Request {
			return engine.Request{Claims: dst}
		})
	}
	g := &guard{config: newConfig(opts), engine: e, binder: b}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(w, r, next) })
	}
}

// guard is one Handler's state; all handlers that the same middleware wraps
// share it.
type guard struct {
	config
	engine *engine.Engine
	binder policy.Binder

	refusals refusals
	lastLog  atomic.Int64 // seconds since 1970 of the last report of a panic
}

func (g *guard) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if g.free(r) {
		next.ServeHTTP(w, r)
		return
	}
	x := &exchange{Context: r.Context()}
	switch {
	case !g.admit(r, x):
		next.ServeHTTP(w, r)
	case x.ticket.OK():
		g.run(w, r, next, x)
	default:
		g.refuse(w, r, x.ticket.Decision())
		// Harmless on a refused ticket, and it keeps every path the same: a ticket
		// ends with Done.
		x.ticket.Done(engine.Ignored)
	}
}

// free reports whether the request passes without a decision: an exempt path,
// or a CORS preflight, which a browser sends before the request that counts
// and whose refusal no script could read.
func (g *guard) free(r *http.Request) bool {
	if _, ok := g.exempt[r.URL.Path]; ok {
		return true
	}
	return r.Method == http.MethodOptions &&
		r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// admit decides and leaves the ticket in x. It reports false when something
// panicked on the way: then there is no decision, and the request passes.
func (g *guard) admit(r *http.Request, x *exchange) (decided bool) {
	defer func() {
		if p := recover(); p != nil {
			decided = false
			g.report(p)
		}
	}()
	s := scratches.Get().(*scratch)
	s.attrs = attrs{c: &g.config, r: r}
	x.ticket = g.engine.Admit(g.binder.Bind(&s.attrs, s.claims[:0]))
	*s = scratch{} // no request is kept alive by the pool
	scratches.Put(s)
	return true
}

// run calls the handler and ends the ticket, however the handler ends: the
// deferred call runs on return, on a panic (http.ErrAbortHandler among them)
// and on runtime.Goexit, and recovers nothing.
func (g *guard) run(w http.ResponseWriter, r *http.Request, next http.Handler, x *exchange) {
	status := 0
	if g.observe {
		w = httpsnoop.Wrap(w, httpsnoop.Hooks{
			WriteHeader: func(write httpsnoop.WriteHeaderFunc) httpsnoop.WriteHeaderFunc {
				return func(code int) {
					if status < http.StatusOK { // nothing yet, or informational
						status = code
					}
					write(code)
				}
			},
		})
	}
	returned := false
	defer func() { x.end(outcome(x.Context, returned && status < http.StatusInternalServerError)) }()
	next.ServeHTTP(w, r.WithContext(x))
	returned = true
}

// outcome says how a request ended. The client's leaving comes before the
// handler's own end: a proxy that panics with http.ErrAbortHandler because
// nobody reads its answer says nothing about load.
func outcome(ctx context.Context, ok bool) engine.Outcome {
	err := ctx.Err()
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return engine.Dropped
	case err != nil:
		return engine.Ignored
	case !ok:
		return engine.Dropped
	}
	return engine.Success
}

// report logs a panic that let a request pass, at most once a second.
func (g *guard) report(p any) {
	now := time.Now().Unix()
	if last := g.lastLog.Load(); last == now || !g.lastLog.CompareAndSwap(last, now) {
		return
	}
	l := g.log
	if l == nil {
		l = slog.Default()
	}
	l.Error("weirhttp: a panic before the handler; the request passed unguarded",
		slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
}
