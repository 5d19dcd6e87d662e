package fleet

import (
	"math"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/engine"
)

// The exchange of a shared bucket: what is sent of an entry, and what becomes
// of it when the reply comes. The entry's region is locked.

// untold returns the tokens admitted and refused that no batch has covered yet.
func (s *side) untold(e *entry) (spent int64, denied uint32) {
	return int64((e.Cum.Load()-s.ack)<<8) >> 8, e.Denied.Load() - s.deniedAck
}

// unmark makes whoever spends from now on mark the entry anew. One that is on
// the stack again stays marked: only its link leads to those below it.
func unmark(e *entry) bool { return e.Link.CompareAndSwap(linkTaken, 0) }

// due says whether the key wants to be sent, and whether it stays in the queue.
func (l *limit) due(e *entry, s *side, now int64) (d dueKey, wanted, stay bool) {
	if s.flying {
		return d, false, true
	}
	spent, denied := s.untold(e)
	since := now - s.pushed
	inFlight := l.cfg.Kind == engine.InFlight && (bucket.InUse(e.Word.Load()) > 0 || s.listed)
	holding := l.leased() && tokens(e.Word.Load(), l.window(now)) > 0
	if s.contended && now-s.attempt > subscribed {
		s.contended = false
	}
	if denied > 0 || spent != 0 {
		s.attempt = now
	}
	period := l.period
	if s.age < l.tau {
		period = int64(l.f.cfg.Period) // the instances are still learning of each other
	}
	period = period * 85 / 100 // a tick comes up to a tenth early
	d.size = float64(spent)
	switch {
	case spent == 0 && denied == 0 && !s.contended && !inFlight && !holding:
		// Nothing to tell, unless something came just now.
		if !unmark(e) {
			return d, false, e.Link.Load() != 0
		}
		spent, denied = s.untold(e)
		return d, false, spent != 0 || denied != 0
	case s.pushed == 0:
		return dueKey{class: urgent, size: math.Inf(1)}, true, true
	case since < minUrgent:
		return d, false, true
	case denied > 0 && now >= e.When.Load() && e.When.Load() != 0 || s.out && denied > 0:
		d.class = urgent
		return d, true, true
	case since < period:
		return d, false, true
	case denied > 0:
		d.class = urgent
		return d, true, true
	case l.cfg.Kind == engine.InFlight:
		d.class = asking
		return d, true, true
	case l.leased():
		d.class = heavy
		return d, spent != 0 || since >= 1e9, true
	case s.contended && since >= max(period, min(1e9, int64(l.tau/2*1e3))):
		d.class = asking
		return d, true, true
	case float64(spent) >= float64(l.cfg.Burst)/(2*l.f.instances()):
		d.class = heavy
		return d, true, true
	case since >= 1e9 && spent != 0:
		d.class = old
		return d, true, true
	}
	return d, false, true
}

// remember adds to the attempts of the key what came since the last batch.
func (l *limit) remember(e *entry, s *side, now int64) (spent, attempts float64) {
	n, denied := s.untold(e)
	s.sent = (s.ack + uint64(n)) & countMask
	s.deniedAck += denied
	attempts = math.Max(0, float64(n)+float64(denied))
	since, decay := float64(now-s.demandAt)/1e3, l.f.cfg.decay()
	if s.out {
		// The store has no memory of the key by now: it is told what came in the
		// shortest time that it can tell from none.
		attempts *= min(1, minAge/since)
		s.demand = 0
	}
	s.demand = decayed(s.demand, since, decay) + attempts
	s.demandAt = now
	if c := float64(e.Cost.Load()); c > 0 {
		if s.pushed == 0 {
			s.unit = c
		}
		s.unit += (c - s.unit) / 4
	}
	return float64(n), attempts
}

// weight is the part of the bucket that the entry is charged for.
func (l *limit) weight(e *entry) float64 {
	inc := e.Inc.Load()
	if inc == shut || inc == 0 {
		return 1 / l.f.instances()
	}
	return min(1, float64(l.rule.Unit())/float64(inc))
}

// owes is what the word owes, in us of the whole bucket's time.
func (l *limit) owes(w uint64, now int64) float64 {
	return float64(l.rule.Debt(w, l.rule.At(now))) / float64(l.rule.Unit()) * l.per
}

func (l *limit) askShare(it *Item, e *entry, s *side, now int64, late float64) {
	w := e.Word.Load()
	spent, attempts := l.remember(e, s, now)
	part := l.weight(e)
	a := &it.Arg
	*a = [Args]float64{RateA: spent, RateT: l.per, RateX0: None, RateAtt: attempts, RateTau: l.tau,
		// Debt, or a bucket of few tokens would not limit at all: every instance may
		// have admitted a request before it heard of the others'.
		RateHi: max(l.hi, l.tau+l.per*l.f.instances())}
	ahead := 0.0 // of the store's time: what was owed as of the last reply, if it drained since
	if s.x0 != None {
		is := s.base + float64(now-s.replied)/1e3
		ahead = s.x0 - is
		if s.per != l.per { // the rate has changed since
			ahead *= l.per / s.per
		}
		a[RateX0] = is + ahead
		if s.per == l.per {
			a[RateX0] = s.x0
		}
	}
	if s.out {
		// It comes back as a bucket of its own: neither with all that it spent
		// meanwhile, which would be a penalty, nor with none of it, which would be
		// a gift, but with what it has not refilled yet, beyond what the store knew.
		owes := part * max(0, l.owes(w, now)-max(0, ahead))
		a[RateA], a[RateU], a[RateHi] = owes/l.per, owes, l.tau
		return
	}
	if !s.verdict {
		a[RateU] = part * l.owes(w, now)
	}
	if s.replied != 0 {
		a[RateU] -= (1 - s.share) * late
	}
}

func (l *limit) gotShare(it *Item, ans Answer, e *entry, s *side, is float64, sent, now int64) {
	a := &it.Arg
	mid := sent + (now-sent)/2
	v := view{level: ans[0] - is, s: ans[1], age: ans[2]}
	expected := math.Max(a[RateX0]+a[RateA]*a[RateT], is+a[RateU])
	alone := e.Inc.Load() == l.rule.Unit() && !s.verdict && !s.out && s.demand+0.5 >= 0.99*v.s && ans[0] <= expected+1
	// A memory that began later than it did the last time has been lost, unless
	// nothing was left in it. Both ages are on the store's clock.
	lost := s.replied != 0 && v.age < min(s.age+is-s.base, MaxAge)-stepBack && s.demand-a[RateAtt] > 0.75
	h := holder{own: s.demand, n: l.f.instances(), unit: max(1, s.unit), tau: l.tau, per: l.per,
		next: float64(l.period+now-sent) / 1e3, decay: l.f.cfg.decay(), gain: l.gain()}
	switch {
	case s.out:
		// Others go on by themselves for up to a second yet.
		s.keep, s.holdUntil, s.blind = l.weight(e), now+recoverHold, false
	case lost:
		l.f.stats.lost++
		s.keep, s.holdUntil, s.blind = s.share, now+int64(l.f.cfg.decay()*1e3), true
		s.demand = a[RateAtt] // what the store knows of it
		h.own = s.demand
	}
	s.x0, s.per, s.age, s.out = ans[0], l.per, v.age, false
	if now < s.holdUntil {
		h.keep, h.blind = s.keep, s.blind
	}
	p := h.fold(v)
	if s.share = p.share; h.keep > 0 {
		s.share = h.keep
	}
	s.contended = p.scarce
	s.debt = max(0, -p.left)
	wake := int64(never)
	if p.left >= float64(l.cfg.Burst)/4 {
		wake = now + minUrgent
	}
	e.When.Store(wake)
	if alone {
		return // nobody else has touched it: the word is exact
	}
	l.install(e, s, v, p, h, mid)
}

// install makes the entry spend its part until the next exchange.
func (l *limit) install(e *entry, s *side, v view, p part, h holder, mid int64) {
	full, unit := float64(l.rule.Full()), float64(l.rule.Unit())
	w := 0.0
	if p.avail > 0 {
		w = max(0, p.allow/p.avail)
	}
	u := l.f.rand.Float64()
	sentCum := s.sent
	if inc := l.incFor(w); w > 0 && float64(inc)*h.unit <= full/2 {
		s.verdict = false
		level := v.level / l.per * unit
		l.put(e, inc, mid, func(since float64) float64 {
			return level + (since-u*h.unit)*float64(inc)
		}, sentCum)
		return
	}
	s.verdict = true
	since, _ := s.untold(e)
	if m := verdict(p.allow-float64(since), h.unit, u); m >= 1 {
		inc := uint64(max(unit, full/(m*h.unit)))
		l.put(e, inc, l.f.host.Now(), func(float64) float64 { return 0 }, sentCum)
		return
	}
	// Nothing until the next exchange, which is given some time to be late.
	deny := full + 2*h.next/l.per*unit
	l.put(e, l.rule.Full(), l.f.host.Now(), func(float64) float64 { return deny }, sentCum)
}

// put stores inc and a level that was true at the instant of at. A level is put
// a few times at most: against a stream of decisions that never pauses it waits
// for the next exchange.
func (l *limit) put(e *entry, inc uint64, at int64, level func(since float64) float64, sent uint64) {
	e.Inc.Store(inc)
	then := l.rule.At(at)
	for range 8 {
		w := e.Word.Load()
		since := float64(int64((e.Cum.Load()-sent)<<8) >> 8)
		now := l.rule.At(l.f.host.Now())
		debt := level(since) - float64(int64(now-then))
		if e.Word.CompareAndSwap(w, l.rule.Owing(w, now, uint64(max(0, debt)))) {
			return
		}
	}
}

func (l *limit) gain() float64 {
	switch l.cfg.Sync.Cold {
	case engine.ColdOptimistic:
		return 1
	case engine.ColdConservative:
		return 1 / l.f.instances()
	}
	return 1 / math.Sqrt(l.f.instances())
}

// goOut makes an entry of a shard that is down live by on_stale.
func (l *limit) goOut(e *entry, s *side) {
	switch {
	case l.leased():
		l.leaseOut(e, s)
	case l.cfg.Kind == engine.InFlight: // its lease ends by itself
	default:
		share := s.share
		if s.replied == 0 {
			share = 1 / l.f.instances()
		}
		if e.Inc.Load(); s.verdict {
			// A verdict is no level: the bucket starts from half.
			s.verdict = false
			l.put(e, l.cutOff(share, int(s.lane)), l.f.host.Now(), func(float64) float64 { return float64(l.rule.Full()) / 2 }, s.sent)
		}
		e.Inc.Store(l.cutOff(share, int(s.lane)))
		e.When.Store(0)
		s.out = true
	}
}

// comeBack prepares an entry for the first exchange after an outage.
func (l *limit) comeBack(e *entry, s *side) {
	switch {
	case l.leased():
		l.leaseBack(e, s)
	case l.cfg.Kind != engine.InFlight && e.Inc.Load() == shut:
		e.Inc.Store(l.incFor(max(s.share, 1/l.f.instances())))
	}
}
