package weirgrpc

import (
	"context"
	"net/netip"
	"sync"

	"google.golang.org/grpc/metadata"

	"github.com/weir-go/weir/policy"
)

// attrs presents a call to a Binder. Whatever costs something is worked out
// when it is asked for.
type attrs struct {
	c      *config
	ctx    context.Context
	method string
	msg    any  // of a unary call
	client bool // an outgoing call
}

// Route returns the call's full method, "/package.Service/Method".
func (a *attrs) Route() string { return a.method }

// Method returns "POST", which is what every call is on the wire.
func (a *attrs) Method() string { return "POST" }

// Header returns the first value of a metadata key.
func (a *attrs) Header(name string) string {
	if a.client {
		md, _ := metadata.FromOutgoingContext(a.ctx)
		return first(md.Get(name))
	}
	return first(metadata.ValueFromIncomingContext(a.ctx, name))
}

// Query returns "": a call has no query.
func (a *attrs) Query(string) string { return "" }

// PathValue returns "": a method has no wildcards.
func (a *attrs) PathValue(string) string { return "" }

// Peer returns the client's address.
func (a *attrs) Peer() netip.Addr { return a.c.addr(a.ctx) }

// DirectPeer returns the address of the connection's other end, whatever the
// metadata says.
func (a *attrs) DirectPeer() netip.Addr {
	if a.client {
		return netip.Addr{} // the context's peer is the caller that this call is made for
	}
	return peerAddr(a.ctx)
}

// Identity returns the authenticated identity.
func (a *attrs) Identity() string { return a.c.identity(a.ctx) }

// CallOf returns the context and, for a unary call or with [PerMessage], the
// message behind the Attrs that a Binder or an extractor is given; nil and nil
// when they come from another transport. Neither must be kept or changed.
func CallOf(a policy.Attrs) (ctx context.Context, message any) {
	if a, ok := a.(*attrs); ok {
		return a.ctx, a.msg
	}
	return nil, nil
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// attrsPool keeps the Attrs of calls that have been decided: a Binder gets them
// through an interface, which would put every one on the heap.
var attrsPool = sync.Pool{New: func() any { return new(attrs) }}
