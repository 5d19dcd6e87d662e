package weirgrpc

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

// UnaryClient returns an interceptor that asks e before every call to a
// dependency, as b describes it, and gives back when the call ends. Header is
// the metadata to be sent; Peer is none unless [ClientAddress] finds one. A call
// that is refused here is not sent, and fails with the status that
// [UnaryServer] would have answered.
func UnaryClient(e *engine.Engine, b policy.Binder, opts ...Option) grpc.UnaryClientInterceptor {
	d := newClientDoor(e, b, opts)
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, callOpts ...grpc.CallOption) (err error) {
		var t engine.Ticket
		guarded, err := d.enter(ctx, method, req, &t)
		if err != nil {
			return err
		}
		if !guarded {
			return invoke(ctx, method, req, reply, cc, callOpts...)
		}
		returned := false
		defer func() { t.Done(outcome(ctx, returned, err)) }()
		err = invoke(ctx, method, req, reply, cc, callOpts...)
		returned = true
		return err
	}
}

// StreamClient returns an interceptor that asks e before every stream is
// opened, and gives back when the stream ends: with the first error of RecvMsg
// (io.EOF among them), with the only message of a stream that has but one
// answer, or when its context ends.
func StreamClient(e *engine.Engine, b policy.Binder, opts ...Option) grpc.StreamClientInterceptor {
	d := newClientDoor(e, b, opts)
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, callOpts ...grpc.CallOption) (grpc.ClientStream, error) {
		s := &clientStream{ctx: ctx, one: !desc.ServerStreams}
		guarded, err := d.enter(ctx, method, nil, &s.ticket)
		if err != nil {
			return nil, err
		}
		if !guarded {
			return open(ctx, desc, cc, method, callOpts...)
		}
		opened := false
		defer func() {
			if !opened {
				s.ticket.Done(outcome(ctx, err != nil, err))
			}
		}()
		if s.ClientStream, err = open(ctx, desc, cc, method, callOpts...); err != nil {
			return nil, err
		}
		opened = true
		s.stop = context.AfterFunc(ctx, func() { s.end(ctx.Err()) })
		return s, nil
	}
}

// DialOptions returns the two interceptors as options for [grpc.NewClient].
func DialOptions(e *engine.Engine, b policy.Binder, opts ...Option) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(UnaryClient(e, b, opts...)),
		grpc.WithChainStreamInterceptor(StreamClient(e, b, opts...)),
	}
}

// clientStream gives back when the stream has ended.
type clientStream struct {
	grpc.ClientStream
	ctx    context.Context
	ticket engine.Ticket
	one    bool        // the server answers with a single message
	stop   func() bool // forgets the context
	once   sync.Once   // the stream and its context may end at the same time
}

// RecvMsg receives a message and notices the end of the stream.
func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil || s.one {
		s.stop()
		s.end(err)
	}
	return err
}

func (s *clientStream) end(err error) {
	if errors.Is(err, io.EOF) {
		err = nil // a stream's proper end
	}
	s.once.Do(func() { s.ticket.Done(outcome(s.ctx, true, err)) })
}
