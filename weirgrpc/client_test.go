package weirgrpc_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front/fronttest"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirgrpc"
)

var discard = slog.New(slog.DiscardHandler)

func TestAClientsCallHoldsItsSlotUntilItEnds(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("calls", 1))
	inside, release := make(chan struct{}), make(chan struct{})
	c := dial(t, &service{unary: func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		inside <- struct{}{}
		<-release
		return &pb.SimpleResponse{}, nil
	}}, nil, weirgrpc.DialOptions(e, fronttest.By(t, e, "calls"))...)
	done := make(chan error)
	go func() {
		_, err := c.UnaryCall(context.Background(), &pb.SimpleRequest{})
		done <- err
	}()
	<-inside
	require.EqualValues(t, 1, fronttest.Inside(t, e, "calls"))
	_, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{})
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "refused here, and not sent")
	require.Equal(t, "calls", detailsOf(err).info.Metadata["limit"])
	close(release)
	require.NoError(t, <-done)
	require.Zero(t, fronttest.Inside(t, e, "calls"))
}

func TestAClientsStreamHoldsItsSlotUntilItEnds(t *testing.T) {
	echo := &service{
		duplex: func(ss pb.TestService_FullDuplexCallServer) error {
			for {
				if _, err := ss.Recv(); err == io.EOF {
					return nil
				} else if err != nil {
					return err
				}
				if err := ss.Send(&pb.StreamingOutputCallResponse{}); err != nil {
					return err
				}
			}
		},
		input: func(ss pb.TestService_StreamingInputCallServer) error {
			for {
				if _, err := ss.Recv(); err != nil {
					return ss.SendAndClose(&pb.StreamingInputCallResponse{})
				}
			}
		},
	}
	e := fronttest.Engine(t, fronttest.InFlight("calls", 1))
	c := dial(t, echo, nil, weirgrpc.DialOptions(e, fronttest.By(t, e, "calls"))...)

	t.Run("to its last message", func(t *testing.T) {
		s, err := c.FullDuplexCall(t.Context())
		require.NoError(t, err)
		require.NoError(t, s.Send(&pb.StreamingOutputCallRequest{}))
		_, err = s.Recv()
		require.NoError(t, err)
		require.EqualValues(t, 1, fronttest.Inside(t, e, "calls"))
		_, err = c.FullDuplexCall(t.Context())
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
		require.NoError(t, s.CloseSend())
		_, err = s.Recv()
		require.ErrorIs(t, err, io.EOF)
		require.Zero(t, fronttest.Inside(t, e, "calls"))
		_, err = s.Recv() // asking again ends nothing twice
		require.Error(t, err)
	})
	t.Run("to its only answer", func(t *testing.T) {
		s, err := c.StreamingInputCall(t.Context())
		require.NoError(t, err)
		require.NoError(t, s.Send(&pb.StreamingInputCallRequest{}))
		require.EqualValues(t, 1, fronttest.Inside(t, e, "calls"))
		_, err = s.CloseAndRecv()
		require.NoError(t, err)
		require.Zero(t, fronttest.Inside(t, e, "calls"))
	})
	t.Run("until its context ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := c.FullDuplexCall(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1, fronttest.Inside(t, e, "calls"))
		cancel() // and nobody reads
		free(t, e)
	})
	t.Run("not at all when it cannot be opened", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := c.FullDuplexCall(ctx)
		require.Error(t, err)
		require.Zero(t, fronttest.Inside(t, e, "calls"))
	})
	require.Zero(t, e.Snapshot().Misuse.DoubleDone)
}

func TestAClientDescribesItsCall(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{})
	var got []string
	c := dial(t, &service{}, nil, weirgrpc.DialOptions(e, policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		got = []string{a.Route(), a.Header("X-Key"), a.Header("absent")}
		require.False(t, a.Peer().IsValid())
		require.False(t, a.(policy.DirectPeer).DirectPeer().IsValid())
		return engine.Request{Claims: dst}
	}))...)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-key", "k")
	// Made on behalf of a caller, whose metadata and address are not this call's.
	ctx = metadata.NewIncomingContext(ctx, metadata.Pairs("absent", "the caller's"))
	ctx = peer.NewContext(ctx, &peer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(203, 0, 113, 9)}})
	_, err := c.UnaryCall(ctx, &pb.SimpleRequest{})
	require.NoError(t, err)
	require.Equal(t, []string{"/grpc.testing.TestService/UnaryCall", "k", ""}, got)
}

func TestAClientFailsOpen(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("calls", 1))
	boom := policy.BinderFunc(func(policy.Attrs, []engine.Claim) engine.Request { panic("bug") })
	c := dial(t, &service{duplex: func(pb.TestService_FullDuplexCallServer) error { return nil }}, nil,
		weirgrpc.DialOptions(e, boom, weirgrpc.Logger(discard))...)
	_, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{})
	require.NoError(t, err)
	s, err := c.FullDuplexCall(t.Context())
	require.NoError(t, err)
	_, err = s.Recv()
	require.ErrorIs(t, err, io.EOF)
}

func TestAClientWaitsItsTurn(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("calls", 1))
	c := dial(t, &service{}, nil, weirgrpc.DialOptions(e, fronttest.By(t, e, "calls"), weirgrpc.Wait())...)
	id, _ := e.Limit("calls")
	held := e.Admit(engine.Request{Claims: []engine.Claim{id.Claim(e.Key(""))}})

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	_, err := c.UnaryCall(ctx, &pb.SimpleRequest{})
	require.Contains(t, []codes.Code{codes.ResourceExhausted, codes.DeadlineExceeded}, status.Code(err))

	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err = c.UnaryCall(ctx, &pb.SimpleRequest{})
	require.Equal(t, codes.Canceled, status.Code(err))

	done := make(chan error)
	go func() {
		_, err := c.UnaryCall(context.Background(), &pb.SimpleRequest{})
		done <- err
	}()
	held.Done(engine.Success)
	require.NoError(t, <-done)
	require.Zero(t, fronttest.Inside(t, e, "calls"))
}
