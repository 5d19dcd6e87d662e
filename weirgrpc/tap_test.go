package weirgrpc_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front/fronttest"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirgrpc"
)

func TestATapRefusesAsAnInterceptorDoes(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{Clock: fronttest.Still(), Limits: []engine.Limit{fronttest.Bucket("api", 1, time.Hour, 1)}})
	handled := 0
	c := dial(t, &service{unary: func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		handled++
		return &pb.SimpleResponse{}, nil
	}}, []grpc.ServerOption{grpc.InTapHandle(weirgrpc.Tap(e, fronttest.By(t, e, "api")))})
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-key", "a")
	_, err := c.UnaryCall(ctx, &pb.SimpleRequest{})
	require.NoError(t, err)
	_, err = c.UnaryCall(ctx, &pb.SimpleRequest{})
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	d := detailsOf(err)
	require.Equal(t, time.Hour, d.retry.RetryDelay.AsDuration())
	require.Equal(t, "api", d.info.Metadata["limit"])
	_, err = c.UnaryCall(metadata.AppendToOutgoingContext(t.Context(), "x-key", "b"), &pb.SimpleRequest{})
	require.NoError(t, err, "the tap sees the metadata")
	require.Equal(t, 2, handled)
}

func TestATapsTicketIsTheInterceptors(t *testing.T) {
	cfg := fronttest.InFlight("calls", 1)
	cfg.Limits = append(cfg.Limits, fronttest.Bucket("opens", 1, time.Hour, 10))
	cfg.Clock = fronttest.Still()
	e := fronttest.Engine(t, cfg)
	b := fronttest.By(t, e, "calls", "opens")
	release := make(chan struct{})
	ended := make(chan struct{}, 1)
	outer := grpc.ChainStreamInterceptor(func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) error {
		defer func() { ended <- struct{}{} }()
		return h(srv, ss)
	})
	opts := append([]grpc.ServerOption{grpc.InTapHandle(weirgrpc.Tap(e, b)), outer}, weirgrpc.ServerOptions(e, b)...)
	c := dial(t, &service{duplex: func(ss pb.TestService_FullDuplexCallServer) error {
		<-ss.Context().Done() // the client has gone, and the work goes on
		<-release
		return nil
	}}, opts)

	ctx, abort := context.WithCancel(t.Context())
	_, err := c.FullDuplexCall(ctx)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return fronttest.Inside(t, e, "calls") == 1 }, 5*time.Second, time.Millisecond)
	abort()
	_, err = c.UnaryCall(t.Context(), &pb.SimpleRequest{})
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "the work holds the slot")
	close(release)
	<-ended
	require.Zero(t, fronttest.Inside(t, e, "calls"))

	for range 9 { // one was charged above: each call is charged once
		_, err = c.UnaryCall(t.Context(), &pb.SimpleRequest{})
		require.NoError(t, err)
		free(t, e)
	}
	_, err = c.UnaryCall(t.Context(), &pb.SimpleRequest{})
	require.Equal(t, "opens", detailsOf(err).info.Metadata["limit"])
	require.Zero(t, e.Snapshot().Misuse.DoubleDone)
}

func TestATapAloneGivesBackWhenTheStreamEnds(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("calls", 1))
	other := fronttest.Engine(t, fronttest.InFlight("calls", 5))
	opts := append([]grpc.ServerOption{grpc.InTapHandle(weirgrpc.Tap(e, fronttest.By(t, e, "calls"), weirgrpc.Exempt("/x/Y")))},
		weirgrpc.ServerOptions(other, fronttest.By(t, other, "calls"))...) // another engine's: asks for itself
	c := dial(t, &service{duplex: func(pb.TestService_FullDuplexCallServer) error { return nil }}, opts)
	for range 20 {
		s, err := c.FullDuplexCall(t.Context())
		require.NoError(t, err)
		_, err = s.Recv()
		require.ErrorIs(t, err, io.EOF)
		free(t, e)
		free(t, other)
	}
	admitted := e.Snapshot().Admitted
	require.EqualValues(t, 20, admitted[engine.Read])
	require.Equal(t, admitted, other.Snapshot().Admitted)
}

func TestATapsTicketIsTakenOnce(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{Clock: fronttest.Still(), Limits: []engine.Limit{fronttest.Bucket("api", 1, time.Hour, 10)}})
	b := fronttest.By(t, e, "api")
	opts := append([]grpc.ServerOption{grpc.InTapHandle(weirgrpc.Tap(e, b))}, weirgrpc.ServerOptions(e, b)...)
	c := dial(t, &service{}, append(opts, weirgrpc.ServerOptions(e, b)...))
	for range 5 { // the second pair of interceptors asks for itself
		_, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{})
		require.NoError(t, err)
	}
	_, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{})
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Zero(t, e.Snapshot().Misuse.DoubleDone)
}

func TestATapFailsOpen(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{})
	boom := policy.BinderFunc(func(policy.Attrs, []engine.Claim) engine.Request { panic("bug") })
	c := dial(t, &service{}, []grpc.ServerOption{grpc.InTapHandle(weirgrpc.Tap(e, boom, weirgrpc.Logger(discard)))})
	_, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{})
	require.NoError(t, err)
}
