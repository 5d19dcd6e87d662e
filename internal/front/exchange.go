package front

import (
	"context"
	"errors"
	"sync"

	"github.com/weir-go/weir/engine"
)

// Exchange is one admitted request's ticket and the request's context in one:
// carrying the ticket costs one allocation and none for a wrapper, and
// cancellation passes through the embedded context. It must not be copied.
type Exchange struct {
	context.Context
	Ticket engine.Ticket // set before the Exchange is handed on

	mu       sync.Mutex // the handler, its work and the front door may meet
	detached bool
}

type exchangeKey struct{}

// Value returns x for its own key, and else what the request's context holds.
func (x *Exchange) Value(k any) any {
	if k == (exchangeKey{}) {
		return x
	}
	return x.Context.Value(k)
}

// End is the front door's Done: nothing when the ticket has been handed over.
func (x *Exchange) End(o engine.Outcome) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.detached {
		x.Ticket.Done(o)
	}
}

// Detach hands the ticket of the request that ctx belongs to over to its work:
// from now on End does nothing. It returns nil when ctx carries no ticket.
func Detach(ctx context.Context) *Exchange {
	x := From(ctx)
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.detached = true
	return x
}

// From returns the exchange that ctx belongs to, or nil.
func From(ctx context.Context) *Exchange {
	x, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return x
}

// Finish gives back what the request holds; a second call is counted as misuse.
// It is safe on nil.
func (x *Exchange) Finish(o engine.Outcome) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.Ticket.Done(o)
}

// Settle names the real cost of the claim on l. It is safe on nil.
func (x *Exchange) Settle(l engine.LimitID, actual int64) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.Ticket.Settle(l, actual)
}

// Outcome says how a request ended whose context is ctx; ok is false when its
// handler failed for reasons of load, panicked or ended its goroutine. The
// caller's leaving comes before the handler's own end: a proxy that panics
// because nobody reads its answer says nothing about load.
func Outcome(ctx context.Context, ok bool) engine.Outcome {
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
