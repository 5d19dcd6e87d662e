package weirgrpc

import (
	"context"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front"
)

// Work is an admitted call's ticket in the hands of work that outlives the call.
// Copies are the same ticket; the methods are safe for concurrent use, and do
// nothing on the zero value.
type Work struct{ x *front.Exchange }

// Detach takes the ticket of the call whose context is ctx (or is derived from
// it) out of the interceptor's hands: what the call holds is given back when
// [Work.Done] is called, and no longer when the handler returns. Call it before
// the handler returns.
//
// It returns the zero value when ctx carries no ticket: the method is exempt, or
// the interceptor failed open. Calls after the first return the same ticket.
func Detach(ctx context.Context) Work { return Work{front.Detach(ctx)} }

// Done gives back what the call holds. The first call counts, from whatever
// goroutine; every further one changes nothing and is counted as misuse.
func (w Work) Done(o engine.Outcome) { w.x.Finish(o) }

// Settle names the real cost of the call's claim on l, before or after the call.
func (w Work) Settle(l engine.LimitID, actual int64) { w.x.Settle(l, actual) }

// Settle names the real cost of a post-paid claim on l that the call whose
// context is ctx has made, before its handler returns. It does nothing when ctx
// carries no ticket.
func Settle(ctx context.Context, l engine.LimitID, actual int64) { front.From(ctx).Settle(l, actual) }
