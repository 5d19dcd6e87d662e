package policy

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// Bound is a policy in force on an engine: the Binder of transports, and what a
// new policy is given to. Its methods are safe for concurrent use.
type Bound struct {
	engine  *engine.Engine
	current atomic.Pointer[snapshot]
	log     *slog.Logger
	wall    func() time.Time

	mu     sync.Mutex // one Swap at a time
	counts *xsync.MapOf[string, *limitCounts]
	routes *xsync.MapOf[string, *atomic.Uint64] // unclassified requests, by route
}

var (
	_ Binder   = (*Bound)(nil)
	_ Exempter = (*Bound)(nil)
	_ Resolver = (*Bound)(nil)
)

// New binds a policy to an engine that was made from its Config. It returns an
// error when the engine lacks a limit of the policy, and for a policy that was
// read with [CheckOnly].
func New(e *engine.Engine, p *Policy) (*Bound, error) {
	if err := p.bindable(); err != nil {
		return nil, err
	}
	b := &Bound{
		engine: e,
		log:    p.opts.base.Logger,
		wall:   time.Now,
		counts: xsync.NewMapOf[string, *limitCounts](),
		routes: xsync.NewMapOf[string, *atomic.Uint64](),
	}
	if b.log == nil {
		b.log = slog.Default()
	}
	if c := p.opts.base.Clock; c != nil {
		b.wall = c.Wall
	}
	s, err := b.resolve(p)
	if err != nil {
		return nil, err
	}
	b.current.Store(s)
	return b, nil
}

// Policy returns the policy in force.
func (b *Bound) Policy() *Policy { return b.current.Load().policy }

// Bind returns what the engine decides on: the class of the request and one
// claim for every limit that is for its route and method. It allocates nothing
// unless a value has to be folded or an extractor does.
func (b *Bound) Bind(a Attrs, dst []engine.Claim) engine.Request {
	s := b.current.Load()
	r, m := b.route(s, a.Route()), method(a.Method())
	if s.exempts(r, a, m) {
		// For a transport that does not know exempt requests: nothing is shed
		// later than this.
		return engine.Request{Class: engine.Critical, Claims: dst}
	}
	req := engine.Request{Class: s.classify(r.rules, a, m), Claims: dst}
	if req.Class == engine.ClassUnset {
		r.unclassified.Add(1)
	}
	for i := range r.limits {
		if l := &r.limits[i]; l.methods&m != 0 {
			b.claim(l.boundLimit, a, &req)
		}
	}
	if req.Cohort == 0 {
		req.Cohort = b.cohort(a)
	}
	return req
}

// claim adds the request's claim on one limit.
func (b *Bound) claim(l *boundLimit, a Attrs, req *engine.Request) {
	k, ok, fault := l.keyOf(b.engine, a)
	if fault == nil && !ok {
		l.counts.missing.Add(1)
		if l.missing == missingFallback {
			k, ok, fault = l.fallbackKey(b.engine, a)
		}
		if fault == nil && !ok {
			if l.refusal != 0 {
				req.Claims = append(req.Claims, l.refusal.Claim(k))
			}
			return
		}
	}
	var variant int
	if fault == nil && l.byPlan != nil {
		variant, fault = l.planOf(a)
	}
	var n int64
	if fault == nil {
		n, fault = l.cost.of(a)
	}
	if fault != nil {
		b.fault(l, fault, req)
		return
	}
	if !l.all && req.Cohort == 0 {
		req.Cohort = k.P
	}
	req.Claims = append(req.Claims, b.idOf(l, k, variant).ClaimN(k, n))
}

// idOf returns the engine's limit for a key: the limit's own, or an override's
// that has not expired.
func (b *Bound) idOf(l *boundLimit, k key.Key, variant int) engine.LimitID {
	if l.overrides != nil {
		if o, ok := l.overrides.Load(k); ok {
			switch {
			case !o.until.IsZero() && !b.wall().Before(o.until):
				// Over for good: until never comes back, and the next request of this
				// key should not look at the time again.
				l.overrides.Delete(k)
			case variant < len(o.ids):
				return o.ids[variant]
			default:
				return o.ids[0]
			}
		}
	}
	return l.ids[variant]
}

// fault is what a limit does when the service's own code panicked on it: a limit
// that fails open leaves the request to the others, one that fails closed makes
// the engine refuse it.
func (b *Bound) fault(l *boundLimit, fault any, req *engine.Request) {
	if l.counts.faults.Add(1) == 1 {
		b.log.Error("policy: an extractor panicked; the limit follows its fail policy",
			slog.String("limit", l.name), slog.String("panic", fmt.Sprint(fault)), slog.String("stack", string(debug.Stack())))
	}
	if l.closed {
		// A claim on no limit can't be decided, and what can't be decided follows
		// the strictest fail policy among the request's limits: this one's.
		req.Claims = append(req.Claims, l.ids[0].Claim(key.Key{}), engine.Claim{})
	}
}

// cohort is who is asking, for requests without a key: without it all of them
// would be shed and restored as one.
func (b *Bound) cohort(a Attrs) uint64 {
	if id := a.Identity(); id != "" {
		return b.engine.Key(id).P
	}
	var buf [17]byte
	return b.engine.Key(string(key.AppendPrefix(buf[:0], a.Peer(), key.PrefixV4, key.PrefixV6))).P
}

// Exempt reports whether no layer may touch the request: an exempt path, or a
// CORS preflight, which a browser sends before the request that counts and whose
// refusal no script could read.
func (b *Bound) Exempt(a Attrs) bool {
	m := a.Method()
	if m == http.MethodOptions && a.Header("Origin") != "" && a.Header("Access-Control-Request-Method") != "" {
		return true
	}
	s := b.current.Load()
	return s.exempts(b.route(s, a.Route()), a, method(m))
}

// Client returns the address of the client behind the policy's trusted proxies:
// peer is the other end of the connection, forwarded the X-Forwarded-For lines
// in their order. See [key.Networks.Client].
func (b *Bound) Client(peer netip.Addr, forwarded []string) netip.Addr {
	return b.current.Load().policy.proxies.Client(peer, forwarded)
}
