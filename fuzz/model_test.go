package fuzz

import (
	"math/big"
	"time"

	"github.com/weir-go/weir/engine"
)

// model is what the engine promises, for one caller at a time, in exact
// fractions: no words, no table, no races.
type model struct {
	now, pub int64     // the true time and the one that the ticker published
	wall     time.Time // the time of day at now
	limits   []*modelLimit

	gated           bool
	alloc, hardCap  int
	critical, other int
}

// modelLimit is one limit with the state of all its keys.
type modelLimit struct {
	id   engine.LimitID
	cfg  engine.Limit
	live bool
	mode engine.Mode // Enforce, Shadow or Off

	// The token clock, N(t) = n0 + rate*(t-t0): it bends when the rate changes.
	t0 int64
	n0 *big.Rat

	window int64 // quota: of the last tick, never going back
	keys   map[int]*modelKey

	would uint64 // refusals that it would have made, while it only watched
	vague bool   // would is not exactly known: a sliding window watched
}

// modelKey is what one key has used of one limit.
type modelKey struct {
	arrival *big.Rat // token bucket: on the limit's clock; nil: never seen
	seen    bool     // the key's word exists: later decisions may be on the published time
	held    int64    // post-paid: estimates that are out
	window  int64    // quota
	used    int64    // quota
	events  []event  // sliding
	inside  int64    // in flight
}

type event struct {
	at   int64
	cost int64
}

func (l *modelLimit) key(k int) *modelKey {
	if l.keys[k] == nil {
		l.keys[k] = &modelKey{}
	}
	return l.keys[k]
}

// clock is N(t).
func (l *modelLimit) clock(t int64) *big.Rat {
	n := new(big.Rat).SetFrac(big.NewInt(l.cfg.Rate), big.NewInt(int64(l.cfg.Per)))
	n.Mul(n, new(big.Rat).SetInt64(t-l.t0))
	return n.Add(n, l.n0)
}

// debt is what the key owes at t, in tokens.
func (l *modelLimit) debt(k *modelKey, t int64) *big.Rat {
	d := new(big.Rat)
	if k.arrival == nil {
		return d
	}
	if d.Sub(k.arrival, l.clock(t)); d.Sign() < 0 {
		return new(big.Rat)
	}
	return d
}

// charge adds cost to what the key owes.
func (l *modelLimit) charge(k *modelKey, t, cost int64) {
	v := new(big.Rat).Add(l.clock(t), l.debt(k, t))
	k.arrival = v.Add(v, new(big.Rat).SetInt64(cost))
	k.seen = true
}

// windowOf numbers the calendar's windows in UTC.
func windowOf(w engine.Window, t time.Time) int64 {
	switch s := t.Unix(); w {
	case engine.Minute:
		return s / 60
	case engine.Hour:
		return s / 3600
	case engine.Day:
		return s / 86400
	}
	return int64(t.UTC().Year())*12 + int64(t.UTC().Month()) - 1
}

func windowEnd(w engine.Window, n int64) time.Time {
	switch w {
	case engine.Minute:
		return time.Unix((n+1)*60, 0)
	case engine.Hour:
		return time.Unix((n+1)*3600, 0)
	case engine.Day:
		return time.Unix((n+1)*86400, 0)
	}
	return time.Date(int(n/12), time.Month(n%12)+2, 1, 0, 0, 0, 0, time.UTC)
}

// windowAt is the window at the instant t, which is not after now.
func (m *model) windowAt(l *modelLimit, t int64) int64 {
	return max(l.window, windowOf(l.cfg.Window, m.wall.Add(time.Duration(t-m.now))))
}

// answer is a verdict on one claim.
type answer int

const (
	pass answer = iota
	refuse
	either // the strict sliding window may refuse up to a quarter window longer
)

// judge decides a claim at the instant t.
func (m *model) judge(l *modelLimit, k *modelKey, t, cost int64) answer {
	ok := true
	switch l.cfg.Kind {
	case engine.TokenBucket:
		total := l.debt(k, t)
		total.Add(total, new(big.Rat).SetInt64(cost+k.held))
		ok = total.Cmp(new(big.Rat).SetInt64(l.cfg.Burst)) <= 0
	case engine.Quota:
		ok = m.used(l, k, t)+cost <= l.cfg.Rate
	case engine.InFlight:
		ok = k.inside+cost <= l.cfg.Max
	case engine.Sliding:
		per := int64(l.cfg.Per)
		switch {
		case k.within(t, per)+cost > l.cfg.Rate:
			ok = false
		case k.within(t, per+(per+3)/4)+cost > l.cfg.Rate:
			return either
		}
	}
	if ok {
		return pass
	}
	return refuse
}

func (m *model) used(l *modelLimit, k *modelKey, t int64) int64 {
	if k.window >= m.windowAt(l, t) {
		return k.used
	}
	return 0
}

// within is what the key used in the interval of length per that ends at t,
// which is open at its beginning.
func (k *modelKey) within(t, per int64) (n int64) {
	for _, e := range k.events {
		if e.at > t-per {
			n += e.cost
		}
	}
	return n
}

// take charges a claim that passed, at the instant t.
func (m *model) take(l *modelLimit, k *modelKey, t, cost int64) {
	if !k.seen {
		t = m.now // the first sight of a key reads the clock
	}
	switch l.cfg.Kind {
	case engine.TokenBucket:
		if l.cfg.PostPaid {
			k.held += cost
		} else {
			l.charge(k, t, cost)
		}
	case engine.Quota:
		k.used = m.used(l, k, t) + cost
		k.window = max(k.window, m.windowAt(l, t))
	case engine.Sliding:
		k.events = append(k.events, event{t, cost})
	case engine.InFlight:
		k.inside += cost
	}
	k.seen = true
}

// left is what remains for the key at t, -1 if it is not exactly known.
func (m *model) left(l *modelLimit, k *modelKey, t int64) int64 {
	switch l.cfg.Kind {
	case engine.TokenBucket:
		free := new(big.Rat).SetInt64(l.cfg.Burst)
		free.Sub(free, l.debt(k, t))
		whole := new(big.Int).Quo(free.Num(), free.Denom()).Int64()
		if free.Sign() < 0 {
			whole = 0
		}
		return max(0, whole-k.held)
	case engine.Quota:
		return max(0, l.cfg.Rate-m.used(l, k, t))
	case engine.InFlight:
		return max(0, l.cfg.Max-k.inside)
	}
	return -1
}

// wait is how long a refused claim has to wait at least, 0 if that is not
// exactly known.
func (m *model) wait(l *modelLimit, k *modelKey, cost int64) time.Duration {
	switch l.cfg.Kind {
	case engine.TokenBucket:
		if k.held+cost > l.cfg.Burst {
			return time.Second // for as long as what is held stays held
		}
		over := l.debt(k, m.now)
		over.Add(over, new(big.Rat).SetInt64(cost+k.held-l.cfg.Burst))
		over.Mul(over, new(big.Rat).SetFrac(big.NewInt(int64(l.cfg.Per)), big.NewInt(l.cfg.Rate)))
		q, r := new(big.Int).QuoRem(over.Num(), over.Denom(), new(big.Int))
		if r.Sign() > 0 {
			q.Add(q, big.NewInt(1))
		}
		return time.Duration(max(q.Int64(), 1))
	case engine.Quota:
		w := max(k.window, m.windowAt(l, m.now))
		return max(windowEnd(l.cfg.Window, w).Sub(m.wall), 1)
	case engine.InFlight:
		return time.Second
	}
	return 0
}

// startsAtOnce reports whether the time at which a claim would be charged is not
// the model's to know while the published time is late: whether the engine still
// has a key's idle word, and so takes the published time, is its own business,
// and what a window promises is about the time of the decision.
func (m *model) startsAtOnce(c claim) bool {
	switch k := c.l.key(c.k); c.l.cfg.Kind {
	case engine.Sliding:
		return true
	case engine.TokenBucket:
		return k.arrival != nil && c.l.debt(k, m.pub).Sign() == 0
	case engine.Quota:
		return m.used(c.l, k, m.pub) == 0
	}
	return false
}

// tick is what the engine does by time: it publishes the time and moves the
// calendars on.
func (m *model) tick() {
	m.pub = m.now
	for _, l := range m.limits {
		if l.cfg.Kind == engine.Quota {
			l.window = max(l.window, windowOf(l.cfg.Window, m.wall))
		}
	}
}

func (m *model) drift(d time.Duration) {
	m.now += int64(d)
	m.wall = m.wall.Add(d)
}
