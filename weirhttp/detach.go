package weirhttp

import (
	"context"
	"sync"

	"github.com/weir-go/weir/engine"
)

// exchange is one admitted request's ticket, in the request's context. It is
// the context itself, so that carrying it costs one allocation and no second
// for a wrapper; cancellation passes through the embedded one.
type exchange struct {
	context.Context

	mu       sync.Mutex // the handler, its work and the middleware may meet
	ticket   engine.Ticket
	detached bool
}

type exchangeKey struct{}

// Value returns the exchange for its own key, and else what the request's
// context holds.
func (x *exchange) Value(k any) any {
	if k == (exchangeKey{}) {
		return x
	}
	return x.Context.Value(k)
}

// end is the middleware's Done: nothing when the ticket has been handed over.
func (x *exchange) end(o engine.Outcome) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.detached {
		x.ticket.Done(o)
	}
}

// Work is an admitted request's ticket in the hands of work that outlives the
// response. Its methods are safe for concurrent use and safe on nil.
type Work struct{ x *exchange }

// Detach takes the ticket of the request whose context is ctx (or is derived
// from it) out of the middleware's hands: what the request holds is given back
// when [Work.Done] is called, and no longer when the handler returns. Use it
// before hijacking a connection, and for work that goes on after the response
// or after a timeout further in; call it before the handler returns.
//
// It returns nil, which is safe to use, when ctx carries no ticket: the path is
// exempt, or the middleware failed open. Calls after the first return the same
// ticket.
func Detach(ctx context.Context) *Work {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.detached = true
	return &Work{x}
}

// Done gives back what the request holds. The first call counts, from whatever
// goroutine; every further one changes nothing and is counted as misuse.
func (w *Work) Done(o engine.Outcome) {
	if w == nil {
		return
	}
	w.x.mu.Lock()
	defer w.x.mu.Unlock()
	w.x.ticket.Done(o)
}

// Settle names the real cost of the request's claim on l, as [Settle] does.
func (w *Work) Settle(l engine.LimitID, actual int64) {
	if w == nil {
		return
	}
	w.x.mu.Lock()
	defer w.x.mu.Unlock()
	w.x.ticket.Settle(l, actual)
}

// Settle names the real cost of a post-paid claim on l that the request whose
// context is ctx has made, at any time before its ticket ends. It does nothing
// when ctx carries no ticket.
func Settle(ctx context.Context, l engine.LimitID, actual int64) {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	(&Work{x}).Settle(l, actual)
}
