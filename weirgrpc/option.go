package weirgrpc

import (
	"context"
	"log/slog"
	"net"
	"net/netip"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/weir-go/weir/key"
	"github.com/weir-go/weir/policy"
)

// Option changes what an interceptor does by default.
type Option func(*config)

type config struct {
	addr     func(context.Context) netip.Addr
	identity func(context.Context) string
	exempt   map[string]struct{}
	shedCode codes.Code
	messages policy.Binder
	wait     bool
	log      *slog.Logger
}

func newConfig(b policy.Binder, opts []Option) config {
	c := config{
		identity: func(context.Context) string { return "" },
		shedCode: codes.Unavailable,
	}
	for _, o := range opts {
		o(&c)
	}
	if proxies, ok := b.(policy.Resolver); ok && c.addr == nil {
		TrustedProxies(proxies)(&c)
	}
	if c.addr == nil {
		c.addr = peerAddr
	}
	return c
}

// ClientAddress takes the client's address from f. f must be safe for
// concurrent use; the zero Addr is no address. Without it and [TrustedProxies]
// the Binder says which proxies to trust, if it is a [policy.Resolver]; else the
// address is the connection's.
func ClientAddress(f func(context.Context) netip.Addr) Option {
	return func(c *config) { c.addr = f }
}

// TrustedProxies takes the client's address from the metadata key
// x-forwarded-for when the connection comes from one of the proxies: the
// rightmost entry that is no proxy itself. [github.com/weir-go/weir/key.Networks]
// is a Resolver and has the rules. It replaces [ClientAddress].
func TrustedProxies(proxies policy.Resolver) Option {
	return ClientAddress(func(ctx context.Context) netip.Addr {
		return proxies.Client(peerAddr(ctx), metadata.ValueFromIncomingContext(ctx, "x-forwarded-for"))
	})
}

// Identity takes the authenticated identity from f: what the service's own
// authentication established, never unverified metadata. f must be safe for
// concurrent use; "" is nobody.
func Identity(f func(context.Context) string) Option {
	return func(c *config) { c.identity = f }
}

// Exempt lets calls of exactly these full methods
// ("/grpc.health.v1.Health/Check") pass without a decision, at every level of
// shedding.
func Exempt(methods ...string) Option {
	return func(c *config) {
		if c.exempt == nil {
			c.exempt = make(map[string]struct{}, len(methods))
		}
		for _, m := range methods {
			c.exempt[m] = struct{}{}
		}
	}
}

// ShedCode replaces UNAVAILABLE as the code for the server's state. Some
// clients retry UNAVAILABLE at once and without end: RESOURCE_EXHAUSTED is the
// usual choice then.
func ShedCode(code codes.Code) Option {
	return func(c *config) { c.shedCode = code }
}

// PerMessage asks about every message that a stream receives, as b describes
// it (its Attrs are the stream's), besides asking about the stream as a whole.
// A refused message ends the stream with the refusal in the trailers. A
// message passes all four layers like a request; give b's requests the class
// Critical when a stream once admitted must not be shed.
func PerMessage(b policy.Binder) Option {
	return func(c *config) { c.messages = b }
}

// Wait makes a client's call wait until it can pass, instead of failing. It
// fails at once when the context's deadline is earlier than that, or when
// waiting does not help. Servers never wait.
func Wait() Option {
	return func(c *config) { c.wait = true }
}

// Logger takes the reports of recovered panics, at most one a second. The
// default is [slog.Default], because a fault that nobody sees stays.
func Logger(l *slog.Logger) Option {
	return func(c *config) { c.log = l }
}

// peerAddr is the address of the connection's other end.
func peerAddr(ctx context.Context) netip.Addr {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return netip.Addr{}
	}
	if t, ok := p.Addr.(*net.TCPAddr); ok {
		return key.Canonical(t.AddrPort().Addr())
	}
	a, _ := key.ParseAddr(p.Addr.String())
	return a // zero for a socket path or an in-memory connection
}
