package weirgrpc

import (
	"context"

	"google.golang.org/grpc/tap"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front"
	"github.com/weir-go/weir/policy"
)

// Tap returns a handle for [google.golang.org/grpc.InTapHandle], an
// experimental API of grpc-go: it decides before a stream exists, so that a
// refused call costs next to nothing. Use it together with the interceptors
// for the same engine, which then do not ask again: what a call holds is given
// back when its handler ends. Without them it is given back when the stream
// ends, which for an aborted call is before its handler does.
//
// b runs in the goroutine that reads the connection and must not block; its
// Attrs have no message, their Route is whatever the client sent, and there is
// no Identity unless it follows from the connection or the metadata. A refusal
// carries the same status and details as an interceptor's, but no pushback for
// retry policies: a tap cannot send trailers.
func Tap(e *engine.Engine, b policy.Binder, opts ...Option) tap.ServerInHandle {
	d := newDoor(e, b, opts)
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if d.free(info.FullMethodName) {
			return ctx, nil
		}
		x := &front.Exchange{Context: ctx}
		if !d.ask(ctx, d.guard, info.FullMethodName, nil, &x.Ticket) {
			return ctx, nil
		}
		if !x.Ticket.OK() {
			defer x.End(engine.Ignored)
			return ctx, d.refusal(x.Ticket.Decision()).err
		}
		o := &offer{x: x, engine: e}
		o.stop = context.AfterFunc(ctx, func() { x.End(engine.Ignored) })
		return context.WithValue(ctx, offerKey{}, o), nil
	}
}

// offer is an admitted call on its way from the tap to the interceptor. Until
// an interceptor takes it, the end of the stream ends its ticket: the handler
// may never run.
type offer struct {
	x      *front.Exchange
	engine *engine.Engine
	stop   func() bool
}

type offerKey struct{}

// taken returns the ticket that the tap has for this call and engine, to one
// interceptor only; nil when there is none, or when the stream has ended.
func (d *door) taken(ctx context.Context) *front.Exchange {
	o, _ := ctx.Value(offerKey{}).(*offer)
	if o == nil || o.engine != d.engine || !o.stop() {
		return nil
	}
	o.x.Context = ctx
	return o.x
}
