package policy

import (
	"slices"
	"sync/atomic"

	"github.com/weir-go/weir/engine"
)

// Swap puts a policy into force: the engine's configuration and the bindings
// change together, every request meets the old or the new, and none is refused
// for the change. Limits that did not change keep their state, those that did
// are converted as [engine.Engine.Swap] says. On an error nothing has changed.
func (b *Bound) Swap(p *Policy) error {
	if err := p.bindable(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	cfg := p.Config()
	// Requests that are bound to the old policy must find its limits until the
	// bindings have changed; so limits that go, go in a second step.
	both := cfg
	both.Limits = union(cfg.Limits, b.current.Load().policy.cfg.Limits)
	if len(both.Limits) == len(cfg.Limits) || b.engine.Swap(both) != nil {
		both.Limits = nil
		if err := b.engine.Swap(cfg); err != nil {
			return err
		}
	}
	s, err := b.resolve(p)
	if err != nil {
		return err
	}
	b.current.Store(s)
	if both.Limits != nil {
		return b.engine.Swap(cfg)
	}
	return nil
}

// union is the limits of a configuration and those of another whose names it
// does not have.
func union(limits, old []engine.Limit) []engine.Limit {
	out := slices.Clone(limits)
	for _, l := range old {
		if !slices.ContainsFunc(limits, func(n engine.Limit) bool { return n.Name == l.Name }) {
			out = append(out, l)
		}
	}
	return out
}

// Stats are what binding counts besides the engine's own counters.
type Stats struct {
	// Unclassified counts the requests that no rule gave a class, by route; they
	// count as the policy's default class. A route that turns up here was
	// forgotten, or is new.
	Unclassified map[string]uint64
	// Missing counts the requests that lacked a part of a limit's key, and Faults
	// those on which an extractor panicked, by limit of the file.
	Missing, Faults map[string]uint64
}

// Stats returns the counters. They only grow, through every Swap.
func (b *Bound) Stats() Stats {
	s := Stats{Unclassified: map[string]uint64{}, Missing: map[string]uint64{}, Faults: map[string]uint64{}}
	put := func(m map[string]uint64, name string, v *atomic.Uint64) {
		if n := v.Load(); n > 0 {
			m[name] = n
		}
	}
	b.routes.Range(func(name string, v *atomic.Uint64) bool {
		put(s.Unclassified, name, v)
		return true
	})
	b.counts.Range(func(name string, c *limitCounts) bool {
		put(s.Missing, name, &c.missing)
		put(s.Faults, name, &c.faults)
		return true
	})
	return s
}

func (b *Bound) countsOf(limit string) *limitCounts {
	c, _ := b.counts.LoadOrCompute(limit, func() *limitCounts { return new(limitCounts) })
	return c
}

func (b *Bound) unclassifiedOf(route string) *atomic.Uint64 {
	if b.routes.Size() >= maxRoutes {
		route = otherRoutes
	}
	c, _ := b.routes.LoadOrCompute(route, func() *atomic.Uint64 { return new(atomic.Uint64) })
	return c
}
