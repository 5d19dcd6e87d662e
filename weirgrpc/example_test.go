package weirgrpc_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	pb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirgrpc"
)

// One call a minute for each tenant.
func ExampleServerOptions() {
	e := engine.Must(engine.New(engine.Config{
		Limits: []engine.Limit{{Name: "tenant", Rate: 1, Per: time.Minute, Burst: 1}},
	}))
	defer e.Close()
	tenant, _ := e.Limit("tenant")
	binder := policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		return engine.Request{
			Class:  engine.Read,
			Claims: append(dst, tenant.Claim(e.Key(a.Header("tenant")))),
		}
	})
	server := grpc.NewServer(weirgrpc.ServerOptions(e, binder)...)
	pb.RegisterHealthServer(server, health.NewServer())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = server.Serve(l) }()
	defer server.Stop()

	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(context.Background(), "tenant", "acme")
	for range 2 {
		_, err = pb.NewHealthClient(conn).Check(ctx, &pb.HealthCheckRequest{})
		fmt.Printf("%v %q\n", status.Code(err), status.Convert(err).Message())
	}
	// Output:
	// OK ""
	// ResourceExhausted "rate limit \"tenant\": The caller has used up this limit."
}

// No more than ten calls to a dependency at once; further ones wait.
func ExampleDialOptions() {
	e := engine.Must(engine.New(engine.Config{
		Limits: []engine.Limit{{Name: "ledger", Kind: engine.InFlight, Max: 10}},
	}))
	defer e.Close()
	ledger, _ := e.Limit("ledger")
	binder := policy.BinderFunc(func(_ policy.Attrs, dst []engine.Claim) engine.Request {
		return engine.Request{Class: engine.Write, Claims: append(dst, ledger.Claim(e.Key("ledger")))}
	})
	conn, err := grpc.NewClient("127.0.0.1:50051", append(
		weirgrpc.DialOptions(e, binder, weirgrpc.Wait()),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	)...)
	fmt.Println(err)
	conn.Close()
	// Output: <nil>
}
