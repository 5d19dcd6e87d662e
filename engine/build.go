package engine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/gate"
	"github.com/weir-go/weir/ladder"
	"github.com/weir-go/weir/shard"
)

// defaultRetry is what refusals tell clients to wait whose wait is not known.
const defaultRetry = time.Second

// reserved names are SetMode targets.
var reserved = []string{"all", Rate.String(), Concurrency.String(), Fleet.String(), Worker.String()}

// validate lists all that is wrong with a configuration by itself.
func validate(cfg Config) error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf("engine: "+format, args...)) }
	seen := map[string]bool{}
	for i := range cfg.Limits {
		l := &cfg.Limits[i]
		for _, err := range l.check() {
			add("limit %q: %w", l.Name, err)
		}
		if seen[l.Name] {
			add("limit %q: name: is used twice", l.Name)
		}
		seen[l.Name] = true
		if err := l.checkSweep(cfg.MaxEntries); err != nil {
			add("limit %q: %w", l.Name, err)
		}
		if l.Sync.Mode != SyncOff && cfg.Sync == nil {
			add("limit %q: sync %v: Config.Sync is nil: there is nobody to share with", l.Name, l.Sync.Mode)
		}
		if l.Sync.Mode != SyncOff && len(cfg.Secret) == 0 {
			add("limit %q: sync %v: Config.Secret is empty: without the same secret everywhere, instances do not agree on keys", l.Name, l.Sync.Mode)
		}
	}
	if len(cfg.Limits) > math.MaxUint16/2 {
		add("limits: %d are more than %d", len(cfg.Limits), math.MaxUint16/2)
	}
	g := cfg.Gate
	if g.Capacity < 0 || g.Capacity > math.MaxInt32 {
		add("gate: capacity %d: must be from 0 to %d", g.Capacity, math.MaxInt32)
	}
	if !(g.Reserve >= 0 && g.Reserve <= 1) {
		add("gate: reserve %v: must be from 0 to 1", g.Reserve)
	}
	if g.HardCap < 0 || g.HardCap > math.MaxInt32 {
		add("gate: hard cap %d: must be from 0 to %d", g.HardCap, math.MaxInt32)
	}
	if g.Adaptive != nil {
		if g.Capacity != 0 {
			add("gate: capacity %d: must be 0 when it is adaptive", g.Capacity)
		}
		if _, err := gate.NewAdaptive(*g.Adaptive); err != nil {
			for _, err := range each(err) {
				add("%w", err)
			}
		}
	}
	if g.Capacity == 0 && g.Adaptive == nil && (g.Reserve > 0 || g.HardCap > 0) {
		add("gate: capacity 0: must be set for a reserve or a hard cap")
	}
	if g.RetryAfter < 0 {
		add("gate: retry after %v: must not be negative", g.RetryAfter)
	}
	if cfg.Ladder.RetryAfter < 0 {
		add("ladder: retry after %v: must not be negative", cfg.Ladder.RetryAfter)
	}
	if err := law(cfg).Validate(); err != nil {
		for _, err := range each(err) {
			add("%w", err)
		}
	}
	if cfg.Default > Critical {
		add("default %d: is no class", cfg.Default)
	}
	if cfg.MaxEntries < 0 || cfg.MaxEntries > math.MaxInt32 {
		add("max entries %d: must be from 1 to %d, or 0 for %d", cfg.MaxEntries, math.MaxInt32, 1<<20)
	}
	if c, ok := cfg.Clock.(*ManualClock); ok && c == nil {
		add("clock: is a nil *ManualClock; leave it out for the real one")
	}
	if n := len(cfg.Secret); n > 0 && n < 16 {
		add("secret: %d bytes: must be at least 16", n)
	}
	return errors.Join(errs...)
}

func law(cfg Config) ladder.Config {
	if cfg.Ladder.Law == (ladder.Config{}) {
		return ladder.Default()
	}
	return cfg.Ladder.Law
}

// check lists what is wrong with one limit. Which fields a kind uses is said
// here alone.
func (l *Limit) check() (errs []error) {
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if n := len(l.Name); n < 1 || n > 64 {
		add("name: must have 1 to 64 characters, has %d", n)
	}
	for _, c := range []byte(l.Name) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			add("name: character %q is not one of a-z A-Z 0-9 _ - .", c)
			break
		}
	}
	if slices.Contains(reserved, l.Name) {
		add("name: is reserved for a layer")
	}
	if l.Kind > Unlimited {
		add("kind %d: is none", l.Kind)
		return errs
	}
	uses := func(kinds ...Kind) bool { return slices.Contains(kinds, l.Kind) }
	unused := func(field string, value any, set bool) {
		if set {
			add("%s %v: means nothing for kind %v", field, value, l.Kind)
		}
	}
	if !uses(TokenBucket, Quota, Sliding) {
		unused("rate", l.Rate, l.Rate != 0)
	}
	if !uses(TokenBucket, Sliding) {
		unused("per", l.Per, l.Per != 0)
	}
	if !uses(TokenBucket) {
		unused("burst", l.Burst, l.Burst != 0)
	}
	if !uses(TokenBucket, Quota) {
		unused("post-paid", l.PostPaid, l.PostPaid)
	}
	if !uses(InFlight) {
		unused("max", l.Max, l.Max != 0)
	}
	if !uses(Quota) {
		unused("window", l.Window, l.Window != 0)
		unused("zone", fmt.Sprintf("%q", l.Zone), l.Zone != "")
		unused("reset at", l.ResetAt, l.ResetAt != 0)
	}
	if l.RetryAfter < 0 {
		add("retry after %v: must not be negative", l.RetryAfter)
	}
	if l.Fail > FailClosed {
		add("fail %d: is no policy", l.Fail)
	}
	if l.Overflow > OverflowClosed {
		add("overflow %d: is no policy", l.Overflow)
	}
	if l.Kind == Quota {
		errs = append(errs, l.checkCalendar()...)
	}
	errs = append(errs, l.Sync.check()...)
	if l.Sync.Mode != SyncOff {
		switch {
		case !l.Kind.counts():
			add("sync %v: means nothing for kind %v", l.Sync.Mode, l.Kind)
		case !uses(TokenBucket, Quota, InFlight):
			add("sync %v: limits of kind %v stay per instance", l.Sync.Mode, l.Kind)
		case l.PostPaid:
			add("sync %v: post-paid limits stay per instance", l.Sync.Mode)
		}
	}
	// The numbers themselves: whatever cannot be counted exactly is refused here.
	if l.Kind.counts() && (l.Kind != Quota || len(errs) == 0) {
		if _, err := l.newRule(); err != nil {
			errs = append(errs, each(err)...)
		}
	}
	return errs
}

// check lists what is wrong with how a limit is shared.
func (s *Sync) check() (errs []error) {
	if s.Mode > SyncStrict {
		errs = append(errs, fmt.Errorf("sync %d: is no mode", s.Mode))
	}
	if s.OnStale > StaleClosed {
		errs = append(errs, fmt.Errorf("sync: on stale %d: is no policy", s.OnStale))
	}
	if !(s.Floor >= 0 && s.Floor <= 1) {
		errs = append(errs, fmt.Errorf("sync: floor %v: must be from 0 to 1", s.Floor))
	}
	if s.Grace < 0 {
		errs = append(errs, fmt.Errorf("sync: grace %v: must not be negative", s.Grace))
	}
	if s.Cold > ColdConservative {
		errs = append(errs, fmt.Errorf("sync: cold %d: is no gain", s.Cold))
	}
	return errs
}

// each returns the errors that were joined.
func each(err error) []error {
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		return j.Unwrap()
	}
	return []error{err}
}

// checkSweep refuses windows so short that the ticker cannot renew every word
// before it outlives its ring.
func (l *Limit) checkSweep(entries int) error {
	r, err := l.newRule()
	if l.Kind != Sliding || err != nil || entries < 0 || entries > math.MaxInt32 {
		return nil // said elsewhere
	}
	if entries == 0 {
		entries = 1 << 20
	}
	sweep := time.Duration(shard.Lines(entries)/maxSweep+1) * tickEvery
	if sweep <= r.Span() {
		return nil
	}
	return fmt.Errorf("per %v: too short for a table of %d entries, which takes %v to sweep: must be at least %v", l.Per, entries, sweep, l.Per*(sweep/r.Span()+1))
}

func (l *Limit) checkCalendar() (errs []error) {
	if l.Window < Minute || l.Window > Month {
		errs = append(errs, fmt.Errorf("window %d: must be minute, hour, day or month", l.Window))
	}
	if _, err := time.LoadLocation(l.Zone); err != nil || l.Zone == "Local" {
		errs = append(errs, fmt.Errorf("zone %q: is not the name of a time zone", l.Zone))
	}
	if l.ResetAt < 0 || l.ResetAt >= 24*time.Hour {
		errs = append(errs, fmt.Errorf("reset at %v: must be from 0 to below 24h", l.ResetAt))
	}
	if l.ResetAt != 0 && l.Window != Day && l.Window != Month {
		errs = append(errs, fmt.Errorf("reset at %v: means nothing for window %v", l.ResetAt, l.Window))
	}
	return errs
}

// newRule is the rule of a limit that starts afresh.
func (l *Limit) newRule() (bucket.Rule, error) {
	switch l.Kind {
	case TokenBucket:
		r, err := bucket.NewToken(l.Rate, l.Per, l.Burst)
		if err == nil && l.PostPaid {
			_, err = r.HoldFor()
		}
		return r, err
	case Sliding:
		return bucket.NewSliding(l.Rate, l.Per)
	case InFlight:
		return bucket.NewFlight(l.Max)
	case Quota:
		zone, err := time.LoadLocation(l.Zone)
		if err != nil {
			return bucket.Rule{}, err
		}
		return bucket.NewQuota(l.Rate, bucket.NewCalendar(l.Window, zone, l.ResetAt))
	}
	return bucket.Rule{}, nil
}

func (l *Limit) layer() Layer {
	if l.Kind == InFlight {
		return Concurrency
	}
	return Rate
}

func orDefault(d time.Duration) time.Duration {
	if d == 0 {
		return defaultRetry
	}
	return d
}

// resize gives the gate the bounds of the configuration. An adaptive capacity
// starts anew only when its configuration changes.
func (e *Engine) resize(old *plan, cfg Config) {
	g := cfg.Gate
	if g.Adaptive == nil {
		e.adaptive.Store(nil)
	} else if old == nil || old.cfg.Gate.Adaptive == nil || *old.cfg.Gate.Adaptive != *g.Adaptive {
		a, _ := gate.NewAdaptive(*g.Adaptive) // validated
		e.adaptive.Store(a)
	}
	if a := e.adaptive.Load(); a != nil {
		g.Capacity = a.Limit()
	}
	if g.Capacity > 0 {
		e.bound(gate.Allocation(g.Capacity, g.Reserve), g.HardCap)
	}
}

// bound sets the gate's own bounds.
func (e *Engine) bound(allocation, hardCap int) {
	e.sizing.Lock()
	defer e.sizing.Unlock()
	e.allocation, e.hardCap = allocation, hardCap
	e.sizeGate()
}

// sizeGate gives the gate the bounds in force: its own or, under a lease, what the
// fleet allows it without an end. Places may lie apart unless how many are inside is
// asked all the time, or bounded by more than that. The caller holds sizing.
func (e *Engine) sizeGate() {
	allocation, together := e.allocation, e.adaptive.Load() != nil
	if l := e.lease.Load(); l != nil {
		allocation = max(min(l.Other, l.Fallback), 0)
		together = together || l.Total != 0 || e.hardCap != 0
	}
	if together {
		e.gate.Hold()
	} else {
		e.gate.Release()
	}
	e.gate.Resize(allocation, e.hardCap)
}

// observe lets an adaptive capacity learn from a request admitted at a time.
func (e *Engine) observe(since int64, o Outcome) {
	if a := e.adaptive.Load(); a != nil {
		now := e.time.Now()
		critical, other := e.gate.Inside()
		a.Observe(time.Duration(now), time.Duration(now-since), o, critical+other)
	}
}
