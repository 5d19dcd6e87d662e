package target

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// GRPC calls unary methods of a server, without TLS and without knowing their
// types: a request's Path is the full method ("/package.Service/Method"), its
// Body the encoded message.
type GRPC struct {
	conns   []*grpc.ClientConn
	timeout time.Duration
	header  map[string][]string
}

// NewGRPC returns a target for the server at address; timeout is for requests
// that have none, header is sent with every call, "{user}" replaced. It opens
// so many connections, at least 1: one carries few hundred calls at once.
func NewGRPC(address string, timeout time.Duration, header map[string][]string, connections int) (*GRPC, error) {
	g := &GRPC{timeout: timeout, header: map[string][]string{}}
	for k, v := range header {
		g.header[strings.ToLower(k)] = v
	}
	for range max(connections, 1) {
		c, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDisableRetry())
		if err != nil {
			return nil, fmt.Errorf("target: grpc address %q: %w", address, err)
		}
		g.conns = append(g.conns, c)
	}
	return g, nil
}

// raw is a codec that leaves messages encoded.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) ([]byte, error) { return []byte(v.(string)), nil }

func (raw) Unmarshal([]byte, any) error { return nil }

// Do implements Target. RESOURCE_EXHAUSTED is a refusal, and so is UNAVAILABLE
// when its details name a layer: without, it is the connection that failed.
func (g *GRPC) Do(ctx context.Context, r *Request) Result {
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = g.timeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	md := metadata.MD{"request-id": {r.ID}}
	for k, values := range g.header {
		for _, v := range values {
			md.Append(k, ForUser(v, r.User))
		}
	}
	if r.Token != "" {
		md.Set("authorization", "Bearer "+r.Token)
	}
	conn := g.conns[int(uint64(r.Due)/uint64(time.Microsecond)%uint64(len(g.conns)))]
	err := conn.Invoke(metadata.NewOutgoingContext(limited, md), r.Path, r.Body, nil, grpc.ForceCodec(raw{}))
	st := status.Convert(err)
	res := Result{Status: int(st.Code())}
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.Domain == "weir" {
			res.Layer, res.Limit = info.Metadata["layer"], info.Metadata["limit"]
		}
	}
	switch {
	case err == nil:
		res.End = Served
	case ctx.Err() != nil:
		res.End = Stopped
	case st.Code() == codes.DeadlineExceeded:
		res.End = TimedOut
	case st.Code() == codes.ResourceExhausted, st.Code() == codes.Unavailable && res.Layer != "":
		res.End = Refused
	default:
		res.End, res.Err = Failed, st.Code().String()
	}
	return res
}

// Close closes the connections.
func (g *GRPC) Close() (err error) {
	for _, c := range g.conns {
		if e := c.Close(); err == nil {
			err = e
		}
	}
	return err
}
