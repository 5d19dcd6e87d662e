package weirhttp

import (
	"log/slog"
	"net/http"
	"net/netip"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
	"github.com/weir-go/weir/policy"
)

// Option changes what [Handler] does by default.
type Option func(*config)

// config is what the options leave behind; it does not change once Handler has
// returned.
type config struct {
	route    func(*http.Request) string
	addr     func(*http.Request) netip.Addr
	identity func(*http.Request) string
	exempt   map[string]struct{}
	origins  map[string]struct{}
	observe  bool
	draft    Draft
	reject   func(http.ResponseWriter, *http.Request, engine.Decision)
	log      *slog.Logger
}

func newConfig(b policy.Binder, opts []Option) config {
	c := config{
		route:    func(r *http.Request) string { return r.Pattern },
		identity: func(*http.Request) string { return "" },
	}
	for _, o := range opts {
		o(&c)
	}
	if proxies, ok := b.(policy.Resolver); ok && c.addr == nil {
		TrustedProxies(proxies)(&c)
	}
	if c.addr == nil {
		c.addr = remoteAddr
	}
	return c
}

// Mux takes the route from the mux that the middleware is wrapped around, by
// asking it for the pattern that is going to match. Without it the route is
// [http.Request.Pattern], which is set only where the middleware is inside the
// mux: around one handler.
func Mux(mux *http.ServeMux) Option {
	return Route(func(r *http.Request) string {
		_, pattern := mux.Handler(r)
		return pattern
	})
}

// Route takes the route's pattern from f, for routers other than
// [http.ServeMux]. f must answer from a closed set, never with the raw path,
// and be safe for concurrent use; "" is no route.
func Route(f func(*http.Request) string) Option {
	return func(c *config) { c.route = f }
}

// ClientAddress takes the client's address from f. f must be safe for
// concurrent use; the zero Addr is no address. Without it and [TrustedProxies]
// the Binder says which proxies to trust, if it is a [policy.Resolver]; else the
// address is the connection's.
func ClientAddress(f func(*http.Request) netip.Addr) Option {
	return func(c *config) { c.addr = f }
}

// TrustedProxies takes the client's address from X-Forwarded-For when the
// connection comes from one of the proxies: the rightmost entry that is no
// proxy itself. [github.com/weir-go/weir/key.Networks] is a Resolver and has
// the rules. It replaces [ClientAddress].
func TrustedProxies(proxies policy.Resolver) Option {
	return ClientAddress(func(r *http.Request) netip.Addr {
		return proxies.Client(remoteAddr(r), r.Header["X-Forwarded-For"])
	})
}

// Identity takes the authenticated identity from f: what the service's own
// authentication established, never an unverified header. f must be safe for
// concurrent use; "" is nobody.
func Identity(f func(*http.Request) string) Option {
	return func(c *config) { c.identity = f }
}

// Exempt lets requests for exactly these paths pass without a decision, at
// every level of shedding: liveness and readiness probes. Nothing is cleaned
// before the comparison, so "/healthz/../pay" is not "/healthz".
func Exempt(paths ...string) Option {
	return func(c *config) { c.exempt = addAll(c.exempt, paths) }
}

// AllowOrigins lets scripts of these origins ("https://shop.example", or "*"
// for all) read a refusal. It is needed only where the middleware is outside
// the service's CORS middleware; a refusal keeps what one further out has set.
func AllowOrigins(origins ...string) Option {
	return func(c *config) { c.origins = addAll(c.origins, origins) }
}

// ObserveStatus wraps the ResponseWriter, so that an answer of 500 and above
// counts as Dropped. The wrapper keeps every optional interface of the writer;
// it costs 5 allocations per request.
func ObserveStatus() Option {
	return func(c *config) { c.observe = true }
}

// RejectWith answers refused requests with f instead of with problem+json. The
// headers that the middleware sets (Retry-After, Cache-Control) are in place
// when f runs; f writes the status ([Status] names the usual one) and the body.
func RejectWith(f func(http.ResponseWriter, *http.Request, engine.Decision)) Option {
	return func(c *config) { c.reject = f }
}

// Logger takes the reports of recovered panics, at most one a second. The
// default is [slog.Default], because a fault that nobody sees stays.
func Logger(l *slog.Logger) Option {
	return func(c *config) { c.log = l }
}

func addAll(set map[string]struct{}, names []string) map[string]struct{} {
	if set == nil {
		set = make(map[string]struct{}, len(names))
	}
	for _, n := range names {
		set[n] = struct{}{}
	}
	return set
}

// remoteAddr is the address of the connection's other end; the zero Addr when
// that is not an IP address.
func remoteAddr(r *http.Request) netip.Addr {
	a, _ := key.ParseAddr(r.RemoteAddr)
	return a
}
