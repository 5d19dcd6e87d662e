package weirgrpc_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front/fronttest"
)

// free waits until nothing holds a place: a server ends a call's handler a
// moment after the client has its answer.
func free(t testing.TB, e *engine.Engine) {
	t.Helper()
	require.Eventually(t, func() bool { return fronttest.Inside(t, e, "calls") == 0 }, 5*time.Second, time.Millisecond)
}

// service answers calls by the functions that a test gives it.
type service struct {
	pb.UnimplementedTestServiceServer
	unary  func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error)
	duplex func(pb.TestService_FullDuplexCallServer) error
	input  func(pb.TestService_StreamingInputCallServer) error
}

func (s *service) UnaryCall(ctx context.Context, r *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	if s.unary == nil {
		return &pb.SimpleResponse{}, nil
	}
	return s.unary(ctx, r)
}

func (s *service) FullDuplexCall(ss pb.TestService_FullDuplexCallServer) error { return s.duplex(ss) }

func (s *service) StreamingInputCall(ss pb.TestService_StreamingInputCallServer) error {
	return s.input(ss)
}

// dial starts a real server on loopback and returns a client of it.
func dial(t testing.TB, s *service, server []grpc.ServerOption, client ...grpc.DialOption) pb.TestServiceClient {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := grpc.NewServer(server...)
	pb.RegisterTestServiceServer(g, s)
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	c, err := grpc.NewClient(l.Addr().String(), append(client, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return pb.NewTestServiceClient(c)
}

// details are what a refusal carries.
type details struct {
	retry *errdetails.RetryInfo
	info  *errdetails.ErrorInfo
	quota *errdetails.QuotaFailure
}

func detailsOf(err error) (d details) {
	for _, x := range status.Convert(err).Details() {
		switch x := x.(type) {
		case *errdetails.RetryInfo:
			d.retry = x
		case *errdetails.ErrorInfo:
			d.info = x
		case *errdetails.QuotaFailure:
			d.quota = x
		}
	}
	return d
}
