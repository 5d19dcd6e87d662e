package engine

import (
	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// expressSynced is the express way of a request with claims that a fleet shares:
// one on a token bucket or on a count of requests in flight, beside which may
// stand one that the engine counts itself; or one on each. While the ladder is at
// rest nothing can come between that would be refused sooner, but for the gate;
// so what is charged last is not looked at before.
func (e *Engine) expressSynced(t *draft, req *Request, p *plan) (how answer) {
	whole := false
	defer func() {
		if !whole { // decide may meet the fault as well, and knows what to do about it
			e.fault(recover())
			e.putBack(t)
			*t, how = draft{limit: p.limits[0], door: t.door}, unanswered
		}
	}()
	how, whole = e.trySynced(t, req, p), true
	return how
}

// putBack gives back what a request holds that will not start on this way.
func (e *Engine) putBack(t *draft) {
	for i := range t.holds[:min(t.n, few)] {
		e.giveBack(t.holds[:], i)
	}
	t.n, t.holds = 0, [few]hold{}
	e.leave(t)
}

func (e *Engine) trySynced(t *draft, req *Request, p *plan) answer {
	if e.level.Load() != 0 {
		return unanswered
	}
	c := &req.Claims[0]
	l := p.known(c)
	if len(req.Claims) == 1 {
		if l == nil {
			return unanswered
		}
		return e.trySyncedOne(t, req, p, c, l)
	}
	o := &req.Claims[1]
	ol := p.known(o)
	// The bucket is charged last: its undo, unlike that of a place, may give back
	// less than was taken.
	if l == nil || ol != nil && ol.kind == TokenBucket {
		c, o, l, ol = o, c, ol, l
	}
	switch {
	case l == nil || o.Limit == c.Limit:
		return unanswered
	case ol == nil:
		return e.trySyncedBeside(t, req, p, c, l, o)
	case l.kind != TokenBucket || ol.kind != InFlight:
		return unanswered
	}
	return e.trySyncedBoth(t, req, p, c, l, o, ol)
}

// trySyncedOne is one shared claim.
func (e *Engine) trySyncedOne(t *draft, req *Request, p *plan, c *Claim, l *limit) answer {
	now := e.now()
	if p.gated && !e.enter(t, req.Class == Critical) {
		return e.refuseGate(t, req, p, now, l, c)
	}
	if !e.takeKnown(t, now, l, c) {
		return e.notTaken(t, req, p, l, c)
	}
	return admitted
}

// trySyncedBeside is one shared claim and one that the engine counts.
func (e *Engine) trySyncedBeside(t *draft, req *Request, p *plan, c *Claim, l *limit, o *Claim) answer {
	ol := p.ordinary(o)
	if ol == nil {
		return unanswered
	}
	now := e.now()
	tag := shard.TagOf(o.Key.H, ol.table)
	s := e.table.Home(o.Key.H).Pick(tag)
	old, ok := s.Read(tag)
	if !ok {
		if s, old, ok = e.table.Seek(o.Key.H, tag); s == nil {
			// A key never seen: not to be made known for a request that the fleet
			// refuses.
			return e.refuseSynced(t, req, p, l, c)
		} else if !ok {
			return unanswered
		}
	}
	var next uint64
	var room int64
	if ol.kind == InFlight {
		next, ok = ol.rule.TakeFlight(old, o.Cost)
	} else {
		next, room = ol.spend.Spend(old, e.at(ol), uint64(o.Cost))
		ok = room >= 0
	}
	if !ok {
		return unanswered
	}
	if p.gated && !e.enter(t, req.Class == Critical) {
		return e.refuseGate(t, req, p, now, l, c)
	}
	id, done, units, left, ok := l.taker.TakeKnown(c.Key, now, c.Cost)
	if !ok {
		return e.notTaken(t, req, p, l, c)
	}
	if !s.Change(old, next) {
		l.shared.Undo(Handle{ID: id, Done: done, Units: units, Cost: c.Cost}, e.time.Now())
		e.leave(t)
		return unanswered
	}
	t.keepShared(l, c, id, left)
	if ol.kind == InFlight {
		t.tighten(ol.max-bucket.InUse(next), ol)
		t.keepFlight(t.n, ol, e.table.Index(s), next, o.Cost)
	} else {
		t.tighten(ol.tokens(room), ol)
	}
	return admitted
}

// trySyncedBoth is a shared bucket and a shared count of requests in flight.
func (e *Engine) trySyncedBoth(t *draft, req *Request, p *plan, c *Claim, l *limit, o *Claim, ol *limit) answer {
	now := e.now()
	// A place taken and given back might keep somebody else out: not for a request
	// that the bucket refuses.
	if !l.taker.FitsKnown(c.Key, now, c.Cost) {
		return unanswered
	}
	if p.gated && !e.enter(t, req.Class == Critical) {
		return unanswered
	}
	if !e.takeKnown(t, now, ol, o) || !e.takeKnown(t, now, l, c) {
		e.putBack(t)
		t.left, t.limit = 0, p.limits[0]
		return unanswered
	}
	return admitted
}

// takeKnown charges a shared claim and notes what the ticket holds.
func (e *Engine) takeKnown(t *draft, now int64, l *limit, c *Claim) bool {
	id, _, _, left, ok := l.taker.TakeKnown(c.Key, now, c.Cost)
	if ok {
		t.keepShared(l, c, id, left)
	}
	return ok
}

// keepShared notes a shared claim: what is left of it, and what is to be given
// back.
func (t *draft) keepShared(l *limit, c *Claim, id uint64, left int64) {
	t.tighten(left, l)
	if l.kind == InFlight {
		k := &t.holds[t.n%few]
		k.word, k.slot, k.limit, k.kind = id, uint32(c.Cost), l.id, holdShared
		t.n++
	}
}

// notTaken is for a shared claim that was not charged: it is refused, or left to
// decide.
func (e *Engine) notTaken(t *draft, req *Request, p *plan, l *limit, c *Claim) answer {
	e.leave(t)
	return e.refuseSynced(t, req, p, l, c)
}

// refuseGate refuses for the gate a request that the fleet would let pass.
func (e *Engine) refuseGate(t *draft, req *Request, p *plan, now int64, l *limit, c *Claim) answer {
	if l.shared.Peek(c.Key, now, c.Cost).Reason != Admitted {
		return unanswered
	}
	_, how := e.refuseLayer(t, req, p, Fleet)
	return how
}

// refuseSynced refuses the request if, on the true time, its shared claim still
// does not fit; else it is left to decide.
func (e *Engine) refuseSynced(t *draft, req *Request, p *plan, l *limit, c *Claim) answer {
	now := e.time.Now()
	step := l.shared.Peek(c.Key, now, c.Cost)
	if step.Reason == Admitted {
		return unanswered
	}
	e.publishLate(now)
	l.shared.Refused(c.Key, step, now, c.Cost)
	e.refuse(t, req.Class, p, Decision{Reason: step.Reason, Layer: l.layer, Limit: l.id,
		RetryAfter: step.RetryAfter, Remaining: step.Remaining})
	return refused
}

// shared reports whether one of the claims is on a limit that a fleet shares.
func (p *plan) shared(req *Request) bool {
	for i := range req.Claims {
		if id := int(req.Claims[i].Limit); id < len(p.limits) && p.limits[id].taker != nil {
			return true
		}
	}
	return false
}

// known returns the limit of a claim if it is a shared one with a way for known
// keys, that is enforced for every key, and the cost is one that can ever pass.
func (p *plan) known(c *Claim) *limit {
	if int(c.Limit) >= len(p.limits) {
		return nil
	}
	l := p.limits[c.Limit]
	if l.taker == nil || uint64(c.Cost)-1 >= uint64(l.max) || l.mode != Enforce {
		return nil
	}
	return l
}
