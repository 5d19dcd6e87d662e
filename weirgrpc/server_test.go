package weirgrpc_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"
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
	"github.com/weir-go/weir/key"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirgrpc"
)

func TestACallersLimitIsResourceExhausted(t *testing.T) {
	clock := fronttest.Still()
	e := fronttest.Engine(t, engine.Config{Clock: clock, Limits: []engine.Limit{fronttest.Bucket("api", 10, time.Second, 1)}})
	c := dial(t, &service{}, weirgrpc.ServerOptions(e, fronttest.By(t, e, "api")))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-key", "sk_live_4242")

	_, err := c.UnaryCall(ctx, &pb.SimpleRequest{})
	require.NoError(t, err)
	var trailer metadata.MD
	_, err = c.UnaryCall(ctx, &pb.SimpleRequest{}, grpc.Trailer(&trailer))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Equal(t, []string{"-1"}, trailer.Get("grpc-retry-pushback-ms"))
	d := detailsOf(err)
	require.Equal(t, 100*time.Millisecond, d.retry.RetryDelay.AsDuration())
	require.Equal(t, "limited", d.info.Reason)
	require.Equal(t, map[string]string{"layer": "rate", "limit": "api"}, d.info.Metadata)
	require.Equal(t, "api", d.quota.Violations[0].QuotaId)
	require.NotContains(t, fmt.Sprint(err, status.Convert(err).Proto(), trailer), "4242")

	// Waiting as told is always enough.
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		clock.Advance(time.Duration(rnd.Int64N(int64(90 * time.Millisecond))))
		if _, err := c.UnaryCall(ctx, &pb.SimpleRequest{}); err != nil {
			clock.Advance(detailsOf(err).retry.RetryDelay.AsDuration())
			_, err = c.UnaryCall(ctx, &pb.SimpleRequest{})
			require.NoError(t, err)
		}
	}
}

func TestTheServersStateIsUnavailable(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{Gate: engine.Gate{Capacity: 1, Reserve: 1, RetryAfter: 3 * time.Second}})
	read := policy.BinderFunc(func(policy.Attrs, []engine.Claim) engine.Request { return engine.Request{Class: engine.Read} })
	for want, opts := range map[codes.Code][]weirgrpc.Option{
		codes.Unavailable:       nil,
		codes.ResourceExhausted: {weirgrpc.ShedCode(codes.ResourceExhausted)},
	} {
		c := dial(t, &service{}, weirgrpc.ServerOptions(e, read, opts...))
		var trailer metadata.MD
		_, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{}, grpc.Trailer(&trailer))
		require.Equal(t, want, status.Code(err))
		require.Equal(t, []string{"3000"}, trailer.Get("grpc-retry-pushback-ms"))
		d := detailsOf(err)
		require.Equal(t, 3*time.Second, d.retry.RetryDelay.AsDuration())
		require.Equal(t, map[string]string{"layer": "fleet"}, d.info.Metadata)
		require.Nil(t, d.quota)
	}
}

func TestNothingToWaitFor(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{Limits: []engine.Limit{{Name: "banned", Kind: engine.Block}}})
	c := dial(t, &service{}, weirgrpc.ServerOptions(e, fronttest.By(t, e, "banned")))
	_, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{})
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Nil(t, detailsOf(err).retry)
}

func TestRetryPoliciesDoNotMultiplyRefusals(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{Limits: []engine.Limit{fronttest.Bucket("api", 1, time.Hour, 1)}})
	var attempts atomic.Int64
	b := fronttest.By(t, e, "api")
	counting := policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		attempts.Add(1)
		return b.Bind(a, dst)
	})
	c := dial(t, &service{}, weirgrpc.ServerOptions(e, counting), grpc.WithDefaultServiceConfig(`{
		"methodConfig": [{"name": [{}], "retryPolicy": {
			"maxAttempts": 5, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1,
			"retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]}}]}`))
	_, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{})
	require.NoError(t, err)
	attempts.Store(0)
	_, err = c.UnaryCall(t.Context(), &pb.SimpleRequest{})
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.EqualValues(t, 1, attempts.Load())
}

func TestSlotsComeBackHoweverACallEnds(t *testing.T) {
	reject := func(context.Context) error { return status.Error(codes.Unauthenticated, "who are you?") }
	recoverUnary := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (_ any, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = status.Error(codes.Internal, "panic")
			}
		}()
		return h(ctx, req)
	}
	recoverStream := func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, h grpc.StreamHandler) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = status.Error(codes.Internal, "panic")
			}
		}()
		return h(srv, ss)
	}
	ends := map[string]struct {
		inner grpc.ServerOption
		do    func() error
		code  codes.Code
	}{
		"return": {do: func() error { return nil }},
		"error":  {do: func() error { return status.Error(codes.NotFound, "") }, code: codes.NotFound},
		"panic":  {do: func() error { panic("bug") }, code: codes.Internal},
		"an interceptor further in refuses": {
			inner: grpc.ChainUnaryInterceptor(func(ctx context.Context, _ any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
				return nil, reject(ctx)
			}),
			code: codes.Unauthenticated,
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			e := fronttest.Engine(t, fronttest.InFlight("calls", 2))
			opts := []grpc.ServerOption{grpc.ChainUnaryInterceptor(recoverUnary), grpc.ChainStreamInterceptor(recoverStream)}
			opts = append(opts, weirgrpc.ServerOptions(e, fronttest.By(t, e, "calls"))...)
			do := end.do
			if end.inner != nil {
				opts = append(opts, end.inner, grpc.ChainStreamInterceptor(
					func(_ any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
						return reject(ss.Context())
					}))
				do = func() error { return nil }
			}
			c := dial(t, &service{
				unary: func(context.Context, *pb.SimpleRequest) (*pb.SimpleResponse, error) {
					return &pb.SimpleResponse{}, do()
				},
				duplex: func(pb.TestService_FullDuplexCallServer) error { return do() },
			}, opts)
			for range 50 {
				_, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{})
				require.Equal(t, end.code, status.Code(err))
				free(t, e)
				s, err := c.FullDuplexCall(t.Context())
				require.NoError(t, err)
				_, err = s.Recv()
				if end.code == codes.OK {
					require.ErrorIs(t, err, io.EOF)
				} else {
					require.Equal(t, end.code, status.Code(err))
				}
				free(t, e)
			}
			require.Zero(t, e.Snapshot().Misuse.DoubleDone)
		})
	}
}

func TestALongStreamIsAskedAboutOnce(t *testing.T) {
	cfg := fronttest.InFlight("calls", 1)
	cfg.Limits = append(cfg.Limits, fronttest.Bucket("opens", 1, time.Hour, 1))
	e := fronttest.Engine(t, cfg)
	const n = 100_000
	c := dial(t, &service{input: func(ss pb.TestService_StreamingInputCallServer) error {
		got := int32(0)
		for {
			_, err := ss.Recv()
			if err == io.EOF {
				return ss.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: got})
			}
			if err != nil {
				return err
			}
			got++
		}
	}}, weirgrpc.ServerOptions(e, fronttest.By(t, e, "calls", "opens")))
	s, err := c.StreamingInputCall(t.Context())
	require.NoError(t, err)
	for range n {
		require.NoError(t, s.Send(&pb.StreamingInputCallRequest{}))
	}
	require.EqualValues(t, 1, fronttest.Inside(t, e, "calls"))
	resp, err := s.CloseAndRecv()
	require.NoError(t, err)
	require.EqualValues(t, n, resp.AggregatedPayloadSize)
	require.Empty(t, s.Trailer(), "nothing was added to the stream")
	head, err := s.Header()
	require.NoError(t, err)
	require.Equal(t, []string{"application/grpc"}, head.Get("content-type"))
	require.Len(t, head, 1, "%v", head)
	free(t, e)
}

func TestMeteredMessagesEndTheStreamInItsTrailers(t *testing.T) {
	for name, ignores := range map[string]bool{"the handler returns the error": false, "the handler takes it for the end": true} {
		t.Run(name, func(t *testing.T) {
			cfg := fronttest.InFlight("calls", 1)
			cfg.Limits = append(cfg.Limits, fronttest.Bucket("messages", 1, time.Hour, 100))
			e := fronttest.Engine(t, cfg)
			c := dial(t, &service{duplex: func(ss pb.TestService_FullDuplexCallServer) error {
				for {
					if _, err := ss.Recv(); err != nil {
						if ignores {
							_, again := ss.Recv()
							if status.Code(again) != status.Code(err) {
								panic("a refusal must stay")
							}
							return nil
						}
						return err
					}
					if err := ss.Send(&pb.StreamingOutputCallResponse{}); err != nil {
						return err
					}
				}
			}}, weirgrpc.ServerOptions(e, fronttest.By(t, e, "calls"), weirgrpc.PerMessage(fronttest.By(t, e, "messages"))))
			s, err := c.FullDuplexCall(t.Context())
			require.NoError(t, err)
			for i := range 101 {
				require.NoError(t, s.Send(&pb.StreamingOutputCallRequest{}))
				_, err = s.Recv()
				if i < 100 {
					require.NoError(t, err, "message %d", i+1)
				}
			}
			require.Equal(t, codes.ResourceExhausted, status.Code(err))
			require.Equal(t, "messages", detailsOf(err).info.Metadata["limit"])
			require.Equal(t, []string{"-1"}, s.Trailer().Get("grpc-retry-pushback-ms"))
			free(t, e)
		})
	}
}

func TestDetachedWorkHoldsItsSlot(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("calls", 1))
	works := make(chan weirgrpc.Work, 1)
	c := dial(t, &service{unary: func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		works <- weirgrpc.Detach(ctx)
		return &pb.SimpleResponse{}, nil
	}}, weirgrpc.ServerOptions(e, fronttest.By(t, e, "calls")))
	_, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{})
	require.NoError(t, err)
	_, err = c.UnaryCall(t.Context(), &pb.SimpleRequest{})
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	w := <-works
	w.Done(engine.Success)
	require.Zero(t, fronttest.Inside(t, e, "calls"))
	w.Done(engine.Success)
	require.EqualValues(t, 1, e.Snapshot().Misuse.DoubleDone)

	var none weirgrpc.Work
	none.Done(engine.Success)
	none.Settle(1, 1)
	require.Zero(t, weirgrpc.Detach(context.Background()))
}

func TestSettleReachesTheTicket(t *testing.T) {
	l := fronttest.Bucket("tokens", 1, time.Hour, 100)
	l.PostPaid = true
	e := fronttest.Engine(t, engine.Config{Clock: fronttest.Still(), Limits: []engine.Limit{l}})
	id, _ := e.Limit("tokens")
	c := dial(t, &service{unary: func(ctx context.Context, _ *pb.SimpleRequest) (*pb.SimpleResponse, error) {
		weirgrpc.Settle(ctx, id, 60)
		return &pb.SimpleResponse{}, nil
	}}, weirgrpc.ServerOptions(e, fronttest.By(t, e, "tokens")))
	_, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		ticket := e.Admit(engine.Request{Claims: []engine.Claim{id.Claim(e.Key(""))}})
		defer ticket.Done(engine.Ignored)
		ticket.Settle(id, 0)
		return ticket.Decision().Remaining == 39
	}, 5*time.Second, time.Millisecond)
}

func TestHealthChecksAreExempt(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{Limits: []engine.Limit{{Name: "banned", Kind: engine.Block}}})
	c := dial(t, &service{}, weirgrpc.ServerOptions(e, fronttest.By(t, e, "banned"), weirgrpc.Exempt(pb.TestService_UnaryCall_FullMethodName)))
	_, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{})
	require.NoError(t, err)
	_, err = c.EmptyCall(t.Context(), &pb.Empty{})
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Zero(t, e.Snapshot().Admitted)
}

func TestAFaultBeforeTheHandlerLetsTheCallPass(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("calls", 1))
	boom := policy.BinderFunc(func(policy.Attrs, []engine.Claim) engine.Request { panic("a bug in an extractor") })
	c := dial(t, &service{duplex: func(pb.TestService_FullDuplexCallServer) error { return nil }},
		weirgrpc.ServerOptions(e, boom, weirgrpc.Logger(discard)))
	for range 10 {
		_, err := c.UnaryCall(t.Context(), &pb.SimpleRequest{})
		require.NoError(t, err)
		s, err := c.FullDuplexCall(t.Context())
		require.NoError(t, err)
		_, err = s.Recv()
		require.ErrorIs(t, err, io.EOF)
	}
	require.Zero(t, fronttest.Inside(t, e, "calls"))
	require.EqualValues(t, 20, e.Snapshot().Faults)
}

func TestAttributesOfACall(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{})
	proxies, err := key.ParseNetworks("127.0.0.1")
	require.NoError(t, err)
	var got []string
	var size int32
	b := policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		got = []string{
			a.Route(), a.Method(), a.Header("X-Key"), a.Query("q"), a.PathValue("p"), a.Identity(),
			a.Peer().String(), a.(policy.DirectPeer).DirectPeer().String(),
		}
		_, msg := weirgrpc.CallOf(a)
		size = msg.(*pb.SimpleRequest).ResponseSize
		return engine.Request{Claims: dst}
	})
	c := dial(t, &service{}, weirgrpc.ServerOptions(e, b, weirgrpc.TrustedProxies(proxies),
		weirgrpc.Identity(func(context.Context) string { return "me" })))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "x-key", "k", "x-forwarded-for", "6.6.6.6", "x-forwarded-for", "203.0.113.9")
	_, err = c.UnaryCall(ctx, &pb.SimpleRequest{ResponseSize: 7})
	require.NoError(t, err)
	require.Equal(t, []string{"/grpc.testing.TestService/UnaryCall", "POST", "k", "", "", "me", "203.0.113.9", "127.0.0.1"}, got)
	require.EqualValues(t, 7, size)

	c = dial(t, &service{}, weirgrpc.ServerOptions(e, b, weirgrpc.ClientAddress(
		func(context.Context) netip.Addr { return netip.MustParseAddr("192.0.2.1") })))
	_, err = c.UnaryCall(ctx, &pb.SimpleRequest{})
	require.NoError(t, err)
	require.Equal(t, "192.0.2.1", got[6])
}

func TestNilEngineIsToldAtWiring(t *testing.T) {
	require.Panics(t, func() { weirgrpc.UnaryServer(nil, nil) })
}
