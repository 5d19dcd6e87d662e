package fleet

import (
	"math"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/engine"
)

// The exchange of leases. The entry's region is locked.

// askLease asks for what the key will need until the exchange after the next,
// and gives back what it will not: all of it when the instance ends.
func (l *limit) askLease(it *Item, e *entry, s *side, now int64, ending bool) {
	win := l.window(now)
	spent, attempts := l.remember(e, s, now)
	have := tokens(e.Word.Load(), win)
	horizon := 2.2 * float64(l.period) / 1e3
	target := math.Ceil(s.demand / l.f.cfg.decay() * horizon)
	cost := float64(max(1, e.Cost.Load()))
	var give, want float64
	least := 1.0
	switch refused := attempts > spent; {
	case ending:
		give = float64(l.takeOut(e, win, have))
	case refused || float64(have) < target/2:
		if refused {
			least = max(1, cost-float64(have))
		}
		want = max(target-float64(have), least)
	case now-s.attempt >= l.idleFor():
		give = float64(l.takeOut(e, win, have))
	case float64(have) > 2*target+cost:
		give = float64(l.takeOut(e, win, have-int64(target)))
	}
	give -= s.over
	s.over = 0
	frac := s.share
	if s.replied == 0 || l.cfg.Kind == engine.Quota {
		frac = 1 / l.f.instances()
	}
	if l.cfg.Kind == engine.TokenBucket {
		it.Arg = [Args]float64{LeaseGive: give, LeaseT: l.per, LeaseM: s.m, LeaseWant: want, LeaseAtt: attempts,
			LeaseFrac: frac, LeaseTau: l.tau, LeaseMin: least}
		return
	}
	it.Window = int64(win)
	if s.m != float64(win) {
		s.m, s.x0, s.per = float64(win), 0, 0
	}
	it.Arg = [Args]float64{QuotaGive: give, QuotaWant: want, QuotaCap: float64(l.rule.Max()), QuotaX0: s.x0, QuotaGen: s.per,
		QuotaFrac: frac, QuotaTTL: max(MinTTL, float64(l.windowEnd(now))/1e3+1e6), QuotaMin: least}
}

// idleFor is how long a lease may lie idle. Tokens of a bucket lose their worth
// by lying in a hand as they would in the bucket, so that taking them back soon
// gains little; units of a window do not.
func (l *limit) idleFor() int64 {
	if l.cfg.Kind == engine.TokenBucket {
		return 4e9
	}
	return 1e9
}

// takeOut takes n tokens out of the hand, if they are there.
func (l *limit) takeOut(e *entry, win uint64, n int64) int64 {
	for {
		w := e.Word.Load()
		n = min(n, tokens(w, win))
		if n <= 0 || bucket.IsFrozen(w) {
			return 0
		}
		if e.Word.CompareAndSwap(w, hand(w, win, tokens(w, win)-n)) {
			return n
		}
	}
}

func (l *limit) gotLease(it *Item, ans Answer, e *entry, s *side, now int64) {
	granted := int64(ans[2])
	win := l.window(now)
	state := uint64(0)
	if it.Op == OpQuota {
		s.x0, s.per = ans[0], ans[1]
		if uint64(it.Window) != win {
			granted = 0 // of a window that is over
		} else if it.Arg[QuotaWant] > 0 && granted == 0 && it.Arg[QuotaCap]-ans[0] < it.Arg[QuotaMin] {
			state = dry
		}
	} else {
		s.share = (s.demand + 1/l.f.instances()) / (ans[1] + 1)
		s.debt = 0
		if laid := ans[0] - float64(granted)*l.per; granted > 0 && (tokens(e.Word.Load(), win) == 0 || s.m > laid) {
			s.m = laid
		}
	}
	if e.Inc.Load() != state {
		e.Inc.Store(state)
	}
	e.When.Store(now + minUrgent)
	for {
		w := e.Word.Load()
		if bucket.IsFrozen(w) {
			return
		}
		if e.Word.CompareAndSwap(w, hand(w, win, tokens(w, win)+granted)) {
			return
		}
	}
}

func (l *limit) leaseOut(e *entry, s *side) {
	if s.out {
		return
	}
	s.out, s.outCum, s.outHand = true, e.Cum.Load(), tokens(e.Word.Load(), l.window(l.f.host.Now()))
	switch l.stale() {
	case engine.StaleOpen:
		e.Inc.Store(unbarred)
	case engine.StaleClosed:
		e.Inc.Store(shut)
	}
}

func (l *limit) leaseBack(e *entry, s *side) {
	if !s.out {
		return
	}
	was := e.Inc.Swap(0)
	s.out = false
	e.When.Store(0)
	if was != unbarred {
		return
	}
	spent := int64((e.Cum.Load()-s.outCum)<<8) >> 8
	s.over = max(0, float64(spent-(s.outHand-tokens(e.Word.Load(), l.window(l.f.host.Now())))))
}
