package engine

import (
	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// expressSynced is express for a request of which one claim is on a token bucket
// that a fleet shares, and another, if there is one, is what express knows. The
// shared claim is not looked at before it is charged: while the ladder is at
// rest nothing else can come between that would be refused sooner, but for the
// gate, and where that refuses the look is made up for.
func (e *Engine) expressSynced(t *Ticket, req *Request, p *plan) (answered bool) {
	whole := false
	defer func() {
		if !whole { // decide meets the same fault, and knows what to do about it
			_ = recover()
			e.leave(t)
			*t, answered = Ticket{e: t.e, lane: t.lane}, false
		}
	}()
	answered, whole = e.trySynced(t, req, p), true
	return answered
}

func (e *Engine) trySynced(t *Ticket, req *Request, p *plan) bool {
	if e.level.Load() != 0 {
		return false
	}
	c := &req.Claims[0]
	l := p.sharedBucket(c)
	var o *Claim
	if len(req.Claims) == 2 {
		if o = &req.Claims[1]; l == nil {
			c, o = o, c
			l = p.sharedBucket(c)
		}
		if o.Limit == c.Limit {
			return false
		}
	}
	if l == nil {
		return false
	}
	now := e.now()

	var (
		ol              *limit
		s               *shard.Slot
		old, next, room uint64
	)
	if o != nil {
		if ol = p.ordinary(o); ol == nil {
			return false
		}
		tag := shard.TagOf(o.Key.H, ol.table)
		if s = e.table.Slot(o.Key.H, tag); s == nil {
			// A key never seen: not to be made known for a request that the fleet
			// refuses.
			return l.shared.Peek(c.Key, now, c.Cost).Reason != Admitted && e.refuseSynced(t, req, p, l, c)
		}
		var ok bool
		if old, ok = s.Read(tag); !ok {
			return false
		}
		if ol.kind == InFlight {
			next, ok = ol.rule.TakeFlight(old, o.Cost)
		} else {
			next, room, ok = ol.rule.SpendToken(old, ol.rule.TokenAt(now), uint64(o.Cost))
		}
		if !ok {
			return false
		}
	}
	if p.gated && !e.enter(t, req.Class == Critical) {
		if l.shared.Peek(c.Key, now, c.Cost).Reason != Admitted {
			return false
		}
		_, answered := e.refuseLayer(t, req, p, Fleet)
		return answered
	}
	step, h := l.shared.Take(c.Key, now, c.Cost)
	if step.Reason != Admitted {
		e.leave(t)
		return e.refuseSynced(t, req, p, l, c)
	}
	t.d.Remaining, t.d.Limit = step.Remaining, l.id
	if o != nil {
		if !s.Change(old, next) {
			l.shared.Undo(h, now)
			e.leave(t)
			t.d.Remaining, t.d.Limit = 0, 0
			return false
		}
		if ol.kind == InFlight {
			if left := ol.max - bucket.InUse(next); left < step.Remaining {
				t.d.Remaining, t.d.Limit = left, ol.id
			}
			t.keepFlight(0, ol, e.table.Index(s), next, o.Cost)
		} else {
			t.tight, t.room = ol, room
		}
	}
	t.open = true
	e.counted(t, req.Class)
	return true
}

// refuseSynced refuses the request if, on the true time, its shared claim still
// does not fit; else it is left to decide.
func (e *Engine) refuseSynced(t *Ticket, req *Request, p *plan, l *limit, c *Claim) bool {
	now := e.time.Now()
	step := l.shared.Peek(c.Key, now, c.Cost)
	if step.Reason == Admitted {
		return false
	}
	e.publishLate(now)
	l.shared.Refused(c.Key, step, now, c.Cost)
	e.refuse(t, req.Class, p, Decision{Reason: step.Reason, Layer: l.layer, Limit: l.id,
		RetryAfter: step.RetryAfter, Remaining: step.Remaining})
	return true
}

// sharedBucket returns the limit of a claim if it is a shared token bucket that
// is enforced for every key and the cost is one it can ever pass, or nil.
func (p *plan) sharedBucket(c *Claim) *limit {
	if int(c.Limit) >= len(p.limits) {
		return nil
	}
	l := &p.limits[c.Limit]
	if l.shared == nil || l.kind != TokenBucket || uint64(c.Cost)-1 >= uint64(l.max) || l.ctl.mode.Load() != uint64(Enforce) {
		return nil
	}
	return l
}
