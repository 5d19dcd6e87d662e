package front

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

// Guard asks the engine about requests and fails open. Make one with NewGuard;
// its methods are safe for concurrent use.
type Guard struct {
	engine   *engine.Engine
	binder   policy.Binder
	exempter policy.Exempter // the binder, if it is one
	log      *slog.Logger

	lastReport atomic.Int64 // seconds since 1970
}

// NewGuard returns a Guard that asks e about requests as b describes them; a
// nil b describes none. Recovered panics are reported to l; nil is
// [slog.Default].
func NewGuard(e *engine.Engine, b policy.Binder, l *slog.Logger) *Guard {
	if b == nil {
		b = noClaims
	}
	x, _ := b.(policy.Exempter)
	return &Guard{engine: e, binder: b, exempter: x, log: l}
}

// noClaims is the Binder for those who give none: a request without a class and
// without claims, which meets layers 3 and 4 only.
var noClaims policy.Binder = policy.BinderFunc(func(_ policy.Attrs, dst []engine.Claim) engine.Request {
	return engine.Request{Claims: dst}
})

// claims is the memory of one decision. It is reused, because passing it
// through the Binder's interface would put it on the heap for every request.
type claims [engine.MaxClaims]engine.Claim

var pool = sync.Pool{New: func() any { return new(claims) }}

// Admit decides on the request with the given attributes and leaves the ticket
// in t. It reports false when there is no decision, and the request passes:
// because the Binder exempts it, or because something panicked on the way, the
// Binder or weir itself. A panic is counted by the engine as a fault, and logged
// at most once a second.
func (g *Guard) Admit(a policy.Attrs, t *engine.Ticket) (decided bool) {
	defer func() {
		if p := recover(); p != nil {
			decided = false
			g.engine.Fault(p)
			g.report(p)
		}
	}()
	if g.exempter != nil && g.exempter.Exempt(a) {
		return false
	}
	c := pool.Get().(*claims)
	*t = g.engine.Admit(g.binder.Bind(a, c[:0]))
	pool.Put(c)
	return true
}

// Wait is Admit for callers that would rather wait for a while than be refused:
// see [engine.Engine.Wait], whose error it returns.
func (g *Guard) Wait(ctx context.Context, a policy.Attrs, t *engine.Ticket) (decided bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			decided, err = false, nil
			g.engine.Fault(p)
			g.report(p)
		}
	}()
	if g.exempter != nil && g.exempter.Exempt(a) {
		return false, nil
	}
	c := pool.Get().(*claims)
	*t, err = g.engine.Wait(ctx, g.binder.Bind(a, c[:0]))
	pool.Put(c)
	return true, err
}

func (g *Guard) report(p any) {
	now := time.Now().Unix()
	if last := g.lastReport.Load(); last == now || !g.lastReport.CompareAndSwap(last, now) {
		return
	}
	l := g.log
	if l == nil {
		l = slog.Default()
	}
	l.Error("weir: a panic on the way to a decision; the request passed unguarded",
		slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
}
