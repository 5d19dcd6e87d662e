package policy

import (
	"net/netip"

	"github.com/weir-go/weir/engine"
)

// Attrs is what a transport knows of one request. A missing attribute is "" or
// the zero Addr.
type Attrs interface {
	Route() string             // the pattern that matched, never the raw path
	Method() string            // upper case; gRPC: "POST"
	Header(name string) string // first value; gRPC: metadata
	Query(name string) string  // first value
	PathValue(name string) string
	Peer() netip.Addr // the client's address, as the transport's trusted-proxy rule resolved it
	Identity() string // the authenticated identity, as the transport's authenticator says
}

// Binder maps a request's attributes to what the engine decides on. Claims are
// appended to dst, so that a caller with room on its stack allocates nothing.
type Binder interface {
	Bind(a Attrs, dst []engine.Claim) engine.Request
}

// BinderFunc is a Binder in Go code, for those who need no policy file.
type BinderFunc func(a Attrs, dst []engine.Claim) engine.Request

// Bind calls f.
func (f BinderFunc) Bind(a Attrs, dst []engine.Claim) engine.Request { return f(a, dst) }

// DirectPeer is what an Attrs may know besides: the other end of the
// connection, which no header can forge. A class header is believed only of
// trusted direct peers, and of nobody when the Attrs does not know them.
type DirectPeer interface {
	DirectPeer() netip.Addr
}

// Pather is what an Attrs may know besides: the path as the client sent it. It
// is never a key; exempt paths are found by it where one route stands for many,
// as in front of a gateway.
type Pather interface {
	Path() string
}

// Exempter is what a Binder may know besides: requests that no layer may touch,
// at any level of shedding. A transport asks before it binds.
type Exempter interface {
	Exempt(a Attrs) bool
}

// Resolver is what a Binder may know besides: which proxies stand in front of
// the service. A transport asks it for the client's address, with the other end
// of the connection and the X-Forwarded-For lines in their order, unless it was
// told another way to find it.
type Resolver interface {
	Client(peer netip.Addr, forwarded []string) netip.Addr
}
