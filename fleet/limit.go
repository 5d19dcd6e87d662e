package fleet

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// shut as an entry's inc: the limit is closed until the fleet is back.
const shut = math.MaxUint64

// limit is one synced limit. It is immutable but for what is atomic; a changed
// configuration makes another of the same id.
type limit struct {
	f    *Fleet
	t    *table
	id   uint32
	cfg  engine.Limit
	rule bucket.Rule
	salt uint64 // spreads the limits of one key over the lanes

	per    float64 // us per token
	tau    float64 // us: the burst
	hi     float64 // us: burst and debt
	period int64   // ns between two exchanges of a key
	spare  uint32  // the entry for keys that find no room

	overflowed atomic.Uint64 // decisions on such keys
	watching   atomic.Bool   // it refuses nobody: its entries yield to those of enforced limits
}

// Watch implements engine.Watcher.
func (l *limit) Watch(watching bool) { l.watching.Store(watching) }

func newLimit(f *Fleet, id uint32, b engine.Binding) *limit {
	l := &limit{f: f, t: f.table, id: id, cfg: b.Limit, rule: b.Rule, salt: xxhash.Sum64String(b.Limit.Name)}
	l.period = int64(f.cfg.Period)
	if l.cfg.Kind == engine.TokenBucket {
		l.per = float64(l.cfg.Per) / float64(l.cfg.Rate) / 1e3
		l.tau = l.per * float64(l.cfg.Burst)
		l.hi = l.tau + max(l.tau, MinDebt)
		l.period = max(int64(f.cfg.Period), int64(min(l.tau/4*1e3, 1e9)))
	}
	return l
}

// strict reports whether only what was leased may be spent.
func (l *limit) strict() bool { return l.cfg.Sync.Mode == engine.SyncStrict }

// leased reports whether tokens are leased before they are spent.
func (l *limit) leased() bool {
	op := l.op()
	return op == OpQuota || op == OpLease
}

// op is the operation that the limit's keys are exchanged by.
func (l *limit) op() Op {
	switch kind := l.cfg.Kind; {
	case kind == engine.Quota:
		return OpQuota
	case kind == engine.InFlight && l.strict():
		return OpKeep
	case kind == engine.InFlight:
		return OpHold
	case l.strict():
		return OpLease
	}
	return OpRate
}

func (l *limit) stale() engine.Stale {
	switch s := l.cfg.Sync.OnStale; {
	case l.cfg.Fail == engine.FailClosed:
		return engine.StaleClosed
	case s != engine.StaleDefault:
		return s
	case l.leased():
		return engine.StaleClosed
	}
	return engine.StaleShare
}

// laneOf returns the shard of a key: by the public hash, which all instances
// share.
func (l *limit) laneOf(k key.Key) int {
	x := (k.P ^ l.salt) * 0x9e3779b97f4a7c15
	hi, _ := bits.Mul64(x^x>>32, uint64(len(l.f.lanes)))
	return int(hi)
}

// idle reports whether the word says no more than that of a key never seen.
func (l *limit) idle(w uint64, now int64) bool {
	if l.leased() {
		return tokens(w, l.window(now)) == 0
	}
	return l.rule.Idle(w, l.rule.At(now))
}

// incFor returns the units charged for a token by who may use the part w of a
// bucket: never more than a full bucket, so that one request always fits it.
func (l *limit) incFor(w float64) uint64 {
	full := l.rule.Full()
	if !(w*float64(full) > float64(l.rule.Unit())) {
		return full
	}
	return min(max(uint64(math.Round(float64(l.rule.Unit())/w)), l.rule.Unit()), full)
}

// first is the inc of a key that has not been exchanged yet.
func (l *limit) first(lane int) uint64 {
	if l.cfg.Kind != engine.TokenBucket || l.leased() {
		return 0
	}
	n := l.f.instances()
	if l.f.down(lane) {
		return l.cutOff(1/n, lane)
	}
	switch l.cfg.Sync.Cold {
	case engine.ColdOptimistic:
		return l.rule.Unit()
	case engine.ColdConservative:
		return l.incFor(1 / n)
	}
	return l.incFor(1 / math.Sqrt(n))
}

// cutOff is the inc of a key while its shard can not be reached.
func (l *limit) cutOff(share float64, lane int) uint64 {
	floor := l.cfg.Sync.Floor
	if floor == 0 {
		floor = 1 / l.f.instances()
	}
	switch l.stale() {
	case engine.StaleOpen:
		return l.rule.Unit()
	case engine.StaleClosed:
		if l.f.shut(lane, l.grace()) {
			return shut
		}
		return l.incFor(share)
	}
	return l.incFor(max(share, floor))
}

func (l *limit) grace() time.Duration {
	if l.cfg.Sync.Grace == 0 {
		return time.Second
	}
	return l.cfg.Sync.Grace
}

// ref names an entry in one of its lives.
func ref(i uint32, w uint64) uint64 { return uint64(i+1)<<8 | w>>56 }

// deref is the entry, if it still lives that life.
func (t *table) deref(r uint64) (*entry, uint32, bool) {
	i := uint32(r>>8) - 1
	if r == 0 || int(i) >= len(t.Entries) {
		return nil, 0, false
	}
	e := &t.Entries[i]
	return e, i, e.Word.Load()>>56 == r&0xff
}

// asked notes a request's cost, and marks the entry as having something to
// tell.
func (l *limit) asked(e *entry, i uint32, now, cost int64) {
	if c := uint32(min(cost, math.MaxUint32)); e.Cost.Load() != c {
		e.Cost.Store(c)
	}
	if e.Link.Load() == 0 {
		l.f.mark(e, i, now)
	}
}

// refused counts demand that was not met, and hurries the exchange where that
// may change it.
func (l *limit) refused(e *entry, i uint32, now, cost int64) {
	e.Denied.Add(uint32(cost))
	l.asked(e, i, now, cost)
	if w := e.When.Load(); now >= w {
		l.f.hurry(now)
	}
}
