package weirgrpc

import (
	"context"

	"google.golang.org/grpc"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front"
	"github.com/weir-go/weir/policy"
)

// UnaryServer returns an interceptor that asks e about every call, as b
// describes it. An admitted call runs the handler and gives back what it holds
// when the handler returns (or later: [Detach]); a refused one ends with
//
//   - RESOURCE_EXHAUSTED for what the caller did (Limited, Full, NeverFits),
//     with QuotaFailure and a pushback that forbids the client's retry policy
//     to try again: a limit refuses the retry as well;
//   - UNAVAILABLE for the server's state (Reserved, Shed, Closed), with a
//     pushback of the time to wait.
//
// Both carry RetryInfo (unless waiting does not help) and ErrorInfo with the
// domain "weir", the reason, the layer and the limit.
//
// How the handler ended is told to e as follows: DEADLINE_EXCEEDED,
// RESOURCE_EXHAUSTED, UNAVAILABLE and a panic are Dropped, a call that was
// cancelled is Ignored, anything else is Success.
//
// With a nil b a call has no claims and no class, and meets layers 3 and 4
// only. A nil e panics.
func UnaryServer(e *engine.Engine, b policy.Binder, opts ...Option) grpc.UnaryServerInterceptor {
	d := newDoor(e, b, opts)
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
		if d.free(info.FullMethod) {
			return handler(ctx, req)
		}
		x := d.taken(ctx)
		if x == nil {
			x = &front.Exchange{Context: ctx}
			if !d.ask(ctx, d.guard, info.FullMethod, req, &x.Ticket) {
				return handler(ctx, req)
			}
		}
		if !x.Ticket.OK() {
			defer x.End(engine.Ignored)
			r := d.refusal(x.Ticket.Decision())
			_ = grpc.SetTrailer(ctx, r.trailer) // fails only outside a server
			return nil, r.err
		}
		returned := false
		defer func() { x.End(outcome(ctx, returned, err)) }()
		resp, err = handler(x, req)
		returned = true
		return resp, err
	}
}

// StreamServer returns an interceptor that does for streams what [UnaryServer]
// does for calls: it asks when the stream opens, and gives back when its
// handler returns. [PerMessage] asks about every received message besides.
func StreamServer(e *engine.Engine, b policy.Binder, opts ...Option) grpc.StreamServerInterceptor {
	d := newDoor(e, b, opts)
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
		if d.free(info.FullMethod) {
			return handler(srv, ss)
		}
		ctx := ss.Context()
		x := d.taken(ctx)
		if x == nil {
			x = &front.Exchange{Context: ctx}
			if !d.ask(ctx, d.guard, info.FullMethod, nil, &x.Ticket) {
				return handler(srv, ss)
			}
		}
		if !x.Ticket.OK() {
			defer x.End(engine.Ignored)
			r := d.refusal(x.Ticket.Decision())
			ss.SetTrailer(r.trailer)
			return r.err
		}
		s := &serverStream{ServerStream: ss, ctx: x, door: d, method: info.FullMethod}
		returned := false
		defer func() { x.End(outcome(ctx, returned, err)) }()
		err = handler(srv, s)
		returned = true
		if s.refused != nil {
			err = s.refused.err // also when the handler took it for the end of the stream
		}
		return err
	}
}

// ServerOptions returns the two interceptors as options for [grpc.NewServer].
func ServerOptions(e *engine.Engine, b policy.Binder, opts ...Option) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(UnaryServer(e, b, opts...)),
		grpc.ChainStreamInterceptor(StreamServer(e, b, opts...)),
	}
}

// serverStream carries the ticket in its context and meters messages.
type serverStream struct {
	grpc.ServerStream
	ctx     context.Context
	door    *door
	method  string
	refused *refusal // RecvMsg is for one goroutine at a time, and the handler's end comes after it
}

// Context returns the stream's context, with the ticket.
func (s *serverStream) Context() context.Context { return s.ctx }

// RecvMsg receives a message and asks about it.
func (s *serverStream) RecvMsg(m any) error {
	if s.refused != nil {
		return s.refused.err
	}
	if err := s.ServerStream.RecvMsg(m); err != nil || s.door.messages == nil {
		return err
	}
	var t engine.Ticket
	if !s.door.ask(s.ctx, s.door.messages, s.method, m, &t) {
		return nil
	}
	defer t.Done(engine.Ignored) // what a message holds ends here: only rates are of use for it
	if t.OK() {
		return nil
	}
	s.refused = s.door.refusal(t.Decision())
	s.SetTrailer(s.refused.trailer)
	return s.refused.err
}
