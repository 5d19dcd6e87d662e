package policy

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v3"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// snapshot is a policy resolved for one engine. It is what Bind works on;
// reloading replaces it whole.
type snapshot struct {
	policy *Policy
	limits []*boundLimit
	routes *xsync.MapOf[string, *route]
}

// boundLimit is a limit with the engine's handles.
type boundLimit struct {
	*limit
	ids       []engine.LimitID
	byPlan    map[string]int
	fallPlan  int
	refusal   engine.LimitID
	overrides *xsync.MapOf[key.Key, *boundOverride] // nil without overrides
	counts    *limitCounts
}

// boundOverride is an override with the engine's handles.
type boundOverride struct {
	ids   []engine.LimitID
	until time.Time
}

// limitCounts are what Bind counts of a limit; they outlive a reload.
type limitCounts struct{ missing, faults atomic.Uint64 }

// route is what a policy says about one route: worked out when the route is
// first met.
type route struct {
	limits       []routeLimit
	rules        []routeRule
	exempt       methods
	unclassified *atomic.Uint64
}

type routeLimit struct {
	*boundLimit
	methods methods
}

type routeRule struct {
	rule    *classRule
	methods methods
}

// maxRoutes bounds what is kept of routes. Patterns are written by programmers
// and are few; the bound is for a transport that calls raw paths routes.
const maxRoutes = 4096

// resolve looks up the policy's limits in the engine.
func (b *Bound) resolve(p *Policy) (*snapshot, error) {
	s := &snapshot{policy: p, routes: xsync.NewMapOf[string, *route]()}
	find := func(name string) (engine.LimitID, error) {
		id, ok := b.engine.Limit(name)
		if !ok {
			return 0, fmt.Errorf("policy: %s: the engine has no limit %q; make it from the policy's Config", p.file, name)
		}
		return id, nil
	}
	all := func(names []string) (ids []engine.LimitID, err error) {
		for _, n := range names {
			id, err := find(n)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
		return ids, nil
	}
	for _, l := range p.limits {
		bl := &boundLimit{limit: l, counts: b.countsOf(l.name)}
		var err error
		if bl.ids, err = all(l.variants); err != nil {
			return nil, err
		}
		if l.refusal != "" {
			if bl.refusal, err = find(l.refusal); err != nil {
				return nil, err
			}
		}
		if len(l.plans) > 0 {
			bl.byPlan = make(map[string]int, len(l.plans))
			for i, plan := range l.plans {
				bl.byPlan[plan] = i
			}
			bl.fallPlan = bl.byPlan[l.fallbackPlan]
		}
		if len(l.overrides) > 0 {
			bl.overrides = xsync.NewMapOfWithHasher[key.Key, *boundOverride](hashKey)
		}
		for _, o := range l.overrides {
			ids, err := all(o.variants)
			if err != nil {
				return nil, err
			}
			bo := &boundOverride{ids: ids, until: o.until}
			for _, k := range o.keys {
				bl.overrides.Store(b.engine.Key(k...), bo)
			}
		}
		s.limits = append(s.limits, bl)
	}
	return s, nil
}

// hashKey is the hash of a key for a map: the key is one already.
func hashKey(k key.Key, seed uint64) uint64 { return k.H ^ seed }

// route returns what the policy says about a route.
func (b *Bound) route(s *snapshot, name string) *route {
	if r, ok := s.routes.Load(name); ok {
		return r
	}
	r := s.work(name)
	r.unclassified = b.unclassifiedOf(name)
	if s.routes.Size() < maxRoutes {
		r, _ = s.routes.LoadOrStore(name, r)
	}
	return r
}

// exempts reports whether no layer may touch a request on the route: the route
// is an exempt path, or it stands for more and the transport says that the
// request's path is one.
func (s *snapshot) exempts(r *route, a Attrs, m methods) bool {
	if r.exempt&m != 0 {
		return true
	}
	p, ok := a.(Pather)
	if !ok || len(s.policy.free) == 0 {
		return false
	}
	path := p.Path()
	for _, f := range s.policy.free {
		if f.path == path && f.methods&m != 0 {
			return true
		}
	}
	return false
}

// bindable reports whether the policy can decide anything.
func (p *Policy) bindable() error {
	if p.opts.extractors.any {
		return fmt.Errorf("policy: %s: was read with CheckOnly and can't be bound", p.file)
	}
	return nil
}

// otherRoutes stands for the routes beyond maxRoutes in counts.
const otherRoutes = "other"

// work works out what the policy says about a route.
func (s *snapshot) work(name string) *route {
	at := splitPattern(name)
	r := &route{}
	for _, l := range s.limits {
		if m := l.match.on(&at); m != 0 {
			r.limits = append(r.limits, routeLimit{l, m})
		}
	}
	for i := range s.policy.classes {
		c := &s.policy.classes[i]
		if m := c.match.on(&at); m != 0 {
			r.rules = append(r.rules, routeRule{c, m})
		}
	}
	for i := range s.policy.exempt {
		if p := &s.policy.exempt[i]; p.covers(&at) {
			r.exempt |= p.methods
		}
	}
	return r
}
