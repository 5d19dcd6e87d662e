package front

import (
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

// Guard asks the engine about requests and fails open. Its methods are safe
// for concurrent use.
type Guard struct {
	Engine *engine.Engine
	Binder policy.Binder
	Log    *slog.Logger // takes the reports of recovered panics; nil: slog.Default

	lastReport atomic.Int64 // seconds since 1970
}

// NoClaims is the Binder for those who give none: a request without a class
// and without claims, which meets layers 3 and 4 only.
var NoClaims policy.Binder = policy.BinderFunc(func(_ policy.Attrs, dst []engine.Claim) engine.Request {
	return engine.Request{Claims: dst}
})

// claims is the memory of one decision. It is reused, because passing it
// through the Binder's interface would put it on the heap for every request.
type claims [engine.MaxClaims]engine.Claim

var pool = sync.Pool{New: func() any { return new(claims) }}

// Admit decides on the request with the given attributes and leaves the ticket
// in t. It reports false when something panicked on the way, the Binder or
// weir itself: then there is no decision, the request passes, and the panic is
// logged, at most once a second.
func (g *Guard) Admit(a policy.Attrs, t *engine.Ticket) (decided bool) {
	defer func() {
		if p := recover(); p != nil {
			decided = false
			g.report(p)
		}
	}()
	c := pool.Get().(*claims)
	*t = g.Engine.Admit(g.Binder.Bind(a, c[:0]))
	pool.Put(c)
	return true
}

func (g *Guard) report(p any) {
	now := time.Now().Unix()
	if last := g.lastReport.Load(); last == now || !g.lastReport.CompareAndSwap(last, now) {
		return
	}
	l := g.Log
	if l == nil {
		l = slog.Default()
	}
	l.Error("weir: a panic on the way to a decision; the request passed unguarded",
		slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
}
