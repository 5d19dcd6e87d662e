package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// Swap replaces the configuration, atomically: every request is decided by the
// old one or by the new one. Whatever is wrong with the new one is the error,
// and the old one stays.
//
// What a key has used is kept. A limit that is the same is not touched; a
// changed rate counts from now on, and what a key owes stays the same number of
// tokens; a changed burst, quota or maximum is another comparison. A limit of
// another kind, window or zone starts afresh, and so does a token bucket whose
// new rate cannot count in the old one's units; that is logged. A removed
// limit's requests in flight give back as before.
//
// A mode that SetMode has set stays unless the configuration's own changes.
// MaxEntries, Secret, Clock, PreciseClock and Sync cannot change; the Logger of New
// stays.
func (e *Engine) Swap(cfg Config) error {
	errs := []error{validate(cfg)}
	if cfg.MaxEntries == 0 {
		cfg.MaxEntries = 1 << 20
	}
	old := e.plan.Load().cfg
	fixed := func(field string, same bool) {
		if !same {
			errs = append(errs, fmt.Errorf("engine: %s: cannot be changed by Swap", field))
		}
	}
	fixed("max entries", cfg.MaxEntries == old.MaxEntries)
	fixed("secret", slices.Equal(cfg.Secret, old.Secret))
	fixed("clock", same(cfg.Clock, old.Clock))
	fixed("precise clock", cfg.PreciseClock == old.PreciseClock)
	fixed("sync", same(cfg.Sync, old.Sync))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return e.install(cfg)
}

// same compares what may not be comparable.
func same(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && reflect.TypeOf(a).Comparable() && a == b
}

// builder makes one plan out of a configuration and the plan before it.
type builder struct {
	e        *Engine
	old      *plan // nil at first
	next     *plan
	names    []*control
	shared   []Binding // with the fleet, once every other limit is resolved
	assigned []uint8   // table ids to give back if it fails
	retired  []uint8   // table ids to give back if it does not
	retuned  []retune
	applied  []func() // changes of what stays through a Swap, for when nothing can fail any more
	afresh   []string
	now      int64
	wall     time.Time
}

// retune is a table id that gets another rule for the same words.
type retune struct {
	id   uint8
	rule *bucket.Rule
}

func (e *Engine) install(cfg Config) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := builder{e: e, old: e.plan.Load(), names: slices.Clone(*e.names.Load()), now: e.time.Now(), wall: e.time.Wall()}
	if b.old != nil && b.old.closed {
		return errors.New("engine: is closed")
	}
	// No decision may ask a rule about a time before it was bent.
	e.time.Publish(b.now)
	b.next = &plan{
		cfg:         cfg,
		limits:      make([]*limit, len(b.names), len(b.names)+len(cfg.Limits)),
		deflt:       cfg.Default,
		gated:       cfg.Gate.Capacity > 0 || cfg.Gate.Adaptive != nil,
		gateRetry:   orDefault(cfg.Gate.RetryAfter),
		ladderRetry: orDefault(cfg.Ladder.RetryAfter),
	}
	for i := range b.next.limits {
		b.next.limits[i] = &limit{e: e}
	}
	if b.next.deflt == ClassUnset {
		b.next.deflt = Read
	}
	b.next.cfg.Limits = slices.Clone(cfg.Limits)
	b.next.cfg.Secret = slices.Clone(cfg.Secret)
	if cfg.Gate.Adaptive != nil {
		own := *cfg.Gate.Adaptive
		b.next.cfg.Gate.Adaptive = &own
	}

	var errs []error
	ids := map[string]LimitID{}
	for i := range cfg.Limits {
		id, err := b.add(cfg.Limits[i])
		if err != nil {
			errs = append(errs, fmt.Errorf("engine: limit %q: %w", cfg.Limits[i].Name, err))
		}
		ids[cfg.Limits[i].Name] = id
	}
	// A Syncer goes by what it has bound from then on, so nothing else may fail
	// afterwards.
	for i := 0; i < len(b.shared) && len(errs) == 0; i++ {
		if err := b.share(b.shared[i]); err != nil {
			errs = append(errs, fmt.Errorf("engine: limit %q: %w", b.shared[i].Limit.Name, err))
		}
	}
	if len(errs) > 0 {
		for _, id := range b.assigned {
			e.table.Retire(id)
		}
		return errors.Join(errs...)
	}
	b.dropRemoved()

	e.modesFrom(b.old, cfg)
	for name, id := range ids {
		e.byName[name] = id
	}
	e.names.Store(&b.names)
	e.resize(b.old, cfg)
	for _, apply := range b.applied {
		apply()
	}
	for _, r := range b.retuned {
		e.table.Retune(r.id, r.rule)
	}
	e.applyModes(b.next)
	e.plan.Store(b.next)
	for _, id := range b.retired {
		e.table.Retire(id)
	}
	for _, name := range b.afresh {
		e.say(slog.LevelWarn, "limit starts afresh: its new rule cannot read the old counts", slog.String("limit", name))
	}
	if b.old != nil {
		e.say(slog.LevelInfo, "configuration swapped", slog.Int("limits", len(cfg.Limits)))
	}
	return nil
}

// add resolves one limit, keeping the words of the one before it if the new
// rule can read them.
func (b *builder) add(cfg Limit) (LimitID, error) {
	id, known := b.e.byName[cfg.Name]
	if !known {
		if len(b.names) > math.MaxUint16 {
			return 0, fmt.Errorf("name: would be number %d, and an engine tells %d apart", len(b.names), math.MaxUint16)
		}
		id = LimitID(len(b.names))
		b.names = append(b.names, &control{
			name:    cfg.Name,
			own:     cfg.Mode,
			salt:    b.e.rampSalt(cfg.Name),
			tallies: make([]limitTally, tallies()),
		})
		b.next.limits = append(b.next.limits, nil)
	}
	ctl := b.names[id]
	l := limit{
		e: b.e, ctl: ctl, id: id, cfg: cfg, live: true,
		kind: cfg.Kind, layer: cfg.layer(), fail: cfg.Fail, overflow: cfg.Overflow,
		postPaid: cfg.PostPaid, retry: orDefault(cfg.RetryAfter),
	}
	var prev *limit
	if known && b.old.limits[id].live {
		prev = b.old.limits[id]
	}
	if known && (prev == nil || prev.cfg.Mode != cfg.Mode) {
		b.applied = append(b.applied, func() { ctl.own = cfg.Mode })
	}
	kept, err := b.rule(&l, prev)
	if err != nil {
		return id, err
	}
	if err := b.bind(&l, prev, kept); err != nil {
		return id, err
	}
	l.max = l.rule.Max()
	if b.e.time.clock == nil && !b.e.precise {
		l.slack = l.rule.Slack(tickEvery)
	}
	l.passes = l.kind == Unlimited
	l.holds = l.postPaid || l.kind == InFlight
	if prev != nil && !kept {
		b.retire(prev)
		if prev.kind == l.kind && l.kind.counts() {
			b.afresh = append(b.afresh, cfg.Name)
		}
	}
	b.next.limits[id] = &l
	return id, nil
}

// rule gives the limit its rule; kept says that it reads the words of prev.
func (b *builder) rule(l *limit, prev *limit) (kept bool, err error) {
	kept = prev != nil && prev.kind == l.kind && prev.postPaid == l.postPaid && prev.cfg.Sync.Mode == l.cfg.Sync.Mode
	fresh, err := l.cfg.newRule()
	if err != nil {
		return false, err
	}
	switch l.kind {
	case TokenBucket:
		if kept {
			var next bucket.Rule
			if next, kept, err = prev.own().Retune(l.cfg.Rate, l.cfg.Per, l.cfg.Burst, b.now); kept {
				fresh = next
			}
			if err != nil {
				return false, err
			}
		}
	case Quota:
		if kept = kept && fresh.SameWindows(prev.own()); kept {
			fresh = fresh.With(prev.own())
		} else {
			fresh.Calendar().Update(b.now, b.wall)
		}
	case Sliding:
		kept = kept && fresh.SameWindows(prev.own())
	}
	l.rule = fresh
	switch {
	case l.kind != TokenBucket:
	case l.postPaid:
		l.charge = &fresh
		l.rule, err = fresh.HoldFor()
	default:
		l.spend, l.at = fresh.Spender(), new(instant)
		l.at.now.Store(b.now)
		l.at.Store(fresh.SpendAt(b.now))
	}
	return kept, err
}

// own is the rule of the word that is charged in the end.
func (l *limit) own() *bucket.Rule {
	if l.charge != nil {
		return l.charge
	}
	return &l.rule
}

// bind gives the limit its place for words: in the table, or, later, with the
// fleet.
func (b *builder) bind(l *limit, prev *limit, kept bool) (err error) {
	switch {
	case !l.kind.counts():
		return nil
	case l.cfg.Sync.Mode != SyncOff:
		binding := Binding{ID: l.id, Limit: l.cfg, Rule: l.rule}
		if kept {
			binding.Prev = prev.shared
		}
		b.shared = append(b.shared, binding)
		return nil
	case kept:
		l.table, l.bucket = prev.table, prev.bucket
		rule := l.rule
		b.retuned = append(b.retuned, retune{l.table, &rule})
		if l.charge != nil {
			b.retuned = append(b.retuned, retune{l.bucket, l.charge})
		}
		return nil
	}
	if l.table, err = b.assign(&l.rule); err == nil && l.charge != nil {
		l.bucket, err = b.assign(l.charge)
	}
	return err
}

// share binds a limit that the fleet decides.
func (b *builder) share(binding Binding) (err error) {
	l := b.next.limits[binding.ID]
	if l.shared, err = b.next.cfg.Sync.Bind(binding); err != nil {
		return err
	}
	if l.kind == TokenBucket || l.kind == InFlight {
		l.taker, _ = l.shared.(KnownTaker)
	}
	if s, ok := l.shared.(Entered); ok && !b.e.precise {
		l.wide, l.wideID = s.Entries()
		l.wideSalt = shard.Salt(l.wideID)
	}
	b.next.synced = true
	return nil
}

func (b *builder) assign(r *bucket.Rule) (uint8, error) {
	kept := *r
	id, err := b.e.table.Assign(&kept)
	if err == nil {
		b.assigned = append(b.assigned, id)
	}
	return id, err
}

func (b *builder) retire(l *limit) {
	if l.table != 0 {
		b.retired = append(b.retired, l.table)
	}
	if l.bucket != 0 {
		b.retired = append(b.retired, l.bucket)
	}
}

// dropRemoved leaves a mark for every limit that the configuration no longer
// has: claims on it pass.
func (b *builder) dropRemoved() {
	if b.old == nil {
		return
	}
	for id := 1; id < len(b.old.limits); id++ {
		was := b.old.limits[id]
		if b.next.limits[id].live {
			continue
		}
		if was.live {
			b.retire(was)
		}
		b.next.limits[id] = &limit{e: b.e, passes: true, ctl: was.ctl, id: was.id, kind: was.kind, layer: was.layer, shared: was.shared, cfg: was.cfg}
	}
}
