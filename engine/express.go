package engine

import (
	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// express admits the common request without the ceremony of decide: one or two
// enforced claims on token buckets or counts of requests in flight, in the order
// of the limits' handles, of keys that are known, which fit as of the published
// time, while the ladder sheds nothing. It decides what decide would, in the
// same order. Whatever else a request is, it leaves no trace and reports false:
// then decide has to answer.
//
// It is written for few instructions: what it calls is inlined, but for the key
// that is not in its home line, and what it keeps lies in registers.
func (e *Engine) express(t *Ticket, req *Request, p *plan) bool {
	if uint(len(req.Claims)-1) >= few || p.long || e.level.Load() != 0 || req.Class-Test > Critical-Test {
		return false
	}
	now := e.now()
	c := &req.Claims[0]
	l := p.ordinary(c)
	if l == nil {
		return false
	}
	tag := shard.TagOf(c.Key.H, l.table)
	s := e.table.Home(c.Key.H).Slot(tag)
	if s == nil {
		if s = e.table.Away(c.Key.H, tag); s == nil {
			return false
		}
	}
	old, ok := s.Read(tag)
	if !ok {
		return false
	}
	next, left, ok := l.step(old, now, c.Cost)
	if !ok {
		return false
	}
	if len(req.Claims) == few {
		return e.expressTwo(t, req, p, l, s, old, next, left, now)
	}
	if p.gated && !e.passExpress(t, req.Class) {
		return false
	}
	if !s.Change(old, next) {
		e.leave(t)
		return false
	}
	t.e, t.open = e, true
	t.d.Remaining, t.d.Limit = left, l.id
	if l.holds {
		t.keepExpress(e, l, s, next, c.Cost)
	}
	e.counted(t, req.Class)
	return true
}

// expressTwo is the rest of express for two claims: l1 and what follows it are
// what is found of the first.
func (e *Engine) expressTwo(t *Ticket, req *Request, p *plan, l1 *limit, s1 *shard.Slot, old1, next1 uint64, left1, now int64) bool {
	c1, c := &req.Claims[0], &req.Claims[1]
	l := p.ordinary(c)
	if l == nil || c.Limit <= c1.Limit {
		return false
	}
	tag := shard.TagOf(c.Key.H, l.table)
	s := s1.Next()
	if s == nil || !s.Is(tag) {
		if s = e.table.Home(c.Key.H).Slot(tag); s == nil {
			if s = e.table.Away(c.Key.H, tag); s == nil {
				return false
			}
		}
	}
	old, ok := s.Read(tag)
	if !ok {
		return false
	}
	next, left, ok := l.step(old, now, c.Cost)
	if !ok || p.gated && !e.passExpress(t, req.Class) {
		return false
	}
	if !s1.Change(old1, next1) {
		e.leave(t)
		return false
	}
	if !s.Change(old, next) {
		e.table.Undo(&shard.Claim{Cost: c1.Cost, Rule: &l1.rule, Slot: e.table.Index(s1), Word: next1})
		e.leave(t)
		return false
	}
	t.e, t.open = e, true
	t.d.Remaining, t.d.Limit = left1, l1.id
	if left < left1 {
		t.d.Remaining, t.d.Limit = left, l.id
	}
	if l1.holds {
		t.keepExpress(e, l1, s1, next1, c1.Cost)
	}
	if l.holds {
		t.keepExpress(e, l, s, next, c.Cost)
	}
	e.counted(t, req.Class)
	return true
}

// ordinary returns the limit of a claim that express can decide, or nil.
func (p *plan) ordinary(c *Claim) *limit {
	if int(c.Limit) >= len(p.limits) {
		return nil
	}
	l := &p.limits[c.Limit]
	// A cost from 1 to max; limits that need more than express knows have 0 here.
	if uint64(c.Cost)-1 >= l.express || l.ctl.mode.Load() != uint64(Enforce) {
		return nil
	}
	return l
}

// step is the limit's step on a word, and what it leaves of the limit.
func (l *limit) step(old uint64, now, cost int64) (next uint64, left int64, ok bool) {
	if l.kind == InFlight {
		next, ok = l.rule.TakeFlight(old, cost)
		return next, l.max - bucket.InUse(next), ok
	}
	at := l.rule.TokenAt(now)
	next, ok = l.rule.TakeToken(old, at, uint64(cost))
	return next, l.rule.LeftToken(next, at+l.slack), ok
}

// passExpress takes a place in the gate when nothing about it is out of the
// ordinary.
func (e *Engine) passExpress(t *Ticket, class Class) bool {
	if e.layerMode[Fleet].Load() != uint64(Enforce) || e.lease.Load() != nil || !e.gate.Enter(class == Critical) {
		return false
	}
	t.gate = gateOther
	if class == Critical {
		t.gate = gateCritical
	}
	return true
}

// keepExpress notes what a claim that express has charged has to give back.
func (t *Ticket) keepExpress(e *Engine, l *limit, s *shard.Slot, next uint64, cost int64) {
	h := &t.holds[t.n%few]
	h.word, h.cost, h.slot, h.limit = bucket.Life(next), cost, e.table.Index(s), l.id
	t.n++
}
