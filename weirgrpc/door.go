package weirgrpc

import (
	"context"
	"errors"
	"net/netip"

	"github.com/puzpuzpuz/xsync/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front"
	"github.com/weir-go/weir/policy"
)

// door is the state of one interceptor.
type door struct {
	config
	engine *engine.Engine
	guard  *front.Guard
	// messages decides on single messages; nil unless PerMessage.
	messages *front.Guard
	client   bool // decides on outgoing calls
	refusals *xsync.MapOf[refusalKey, *refusal]
}

// newDoor panics when e is nil: at wiring and not on the first call.
func newDoor(e *engine.Engine, b policy.Binder, opts []Option) *door {
	if e == nil {
		panic("weirgrpc: nil engine")
	}
	d := &door{config: newConfig(b, opts), engine: e, refusals: xsync.NewMapOf[refusalKey, *refusal]()}
	d.guard = front.NewGuard(e, b, d.log)
	if d.config.messages != nil {
		d.messages = front.NewGuard(e, d.config.messages, d.log)
	}
	return d
}

func (d *door) free(method string) bool {
	_, ok := d.exempt[method]
	return ok
}

// ask decides on a call or a message; false is no decision, and it passes.
func (d *door) ask(ctx context.Context, g *front.Guard, method string, msg any, t *engine.Ticket) bool {
	a := attrsPool.Get().(*attrs)
	*a = attrs{c: &d.config, ctx: ctx, method: method, msg: msg, client: d.client}
	decided := g.Admit(a, t)
	*a = attrs{} // the pool keeps no call alive
	attrsPool.Put(a)
	return decided
}

// newClientDoor is newDoor for outgoing calls, which come from no peer: the one
// in the context is the caller that the call is made for.
func newClientDoor(e *engine.Engine, b policy.Binder, opts []Option) *door {
	nobody := ClientAddress(func(context.Context) netip.Addr { return netip.Addr{} })
	d := newDoor(e, b, append([]Option{nobody}, opts...))
	d.client = true
	return d
}

// enter decides on a client's call, and waits for it if that is wanted. The
// error is a status; guarded is false when there is neither ticket nor error.
func (d *door) enter(ctx context.Context, method string, msg any, t *engine.Ticket) (guarded bool, err error) {
	if d.free(method) {
		return false, nil
	}
	if !d.wait {
		if !d.ask(ctx, d.guard, method, msg, t) {
			return false, nil
		}
		if !t.OK() {
			return false, d.refusal(t.Decision()).err
		}
		return true, nil
	}
	guarded, err = d.guard.Wait(ctx, &attrs{c: &d.config, ctx: ctx, method: method, msg: msg, client: d.client}, t)
	var refused *engine.RefusedError
	switch {
	case errors.As(err, &refused):
		return false, d.refusal(refused.Decision).err
	case err != nil:
		return false, status.FromContextError(err).Err()
	}
	return guarded, nil
}

// outcome says how a call ended with err; returned is false when its handler
// did not return at all.
func outcome(ctx context.Context, returned bool, err error) engine.Outcome {
	ok := returned
	switch status.Code(err) {
	case codes.DeadlineExceeded, codes.ResourceExhausted, codes.Unavailable:
		ok = false
	case codes.Canceled:
		return engine.Ignored
	}
	return front.Outcome(ctx, ok)
}
