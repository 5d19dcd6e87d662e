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
// It is written for few instructions: what it calls is inlined, but for what is
// rare, and what it keeps lies in registers. What remains is only counted, in
// tokens, when somebody asks the ticket for it.
func (e *Engine) express(t *Ticket, req *Request, p *plan) bool {
	if p.long {
		return false
	}
	if e.level.Load() != 0 {
		return false
	}
	if req.Class-Test > Critical-Test {
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
	if len(req.Claims) != 1 || l.kind == InFlight {
		return e.expressMore(t, req, p, l, s, old, now)
	}
	next, room, ok := l.rule.SpendToken(old, l.rule.TokenAt(now), uint64(c.Cost))
	if !ok || p.gated && !e.passExpress(t, req.Class) {
		return false
	}
	if !s.Change(old, next) {
		e.leave(t)
		return false
	}
	t.e, t.open, t.tight = e, true, l
	t.d.Remaining, t.d.Limit = int64(room), l.id
	e.tally().admitted[req.Class].Add(1)
	return true
}

// expressMore is the rest of express for two claims, or for one that is in
// flight: l1, s1 and old1 are what is found of the first.
func (e *Engine) expressMore(t *Ticket, req *Request, p *plan, l1 *limit, s1 *shard.Slot, old1 uint64, now int64) bool {
	c1 := &req.Claims[0]
	next1, room1, ok := l1.spend(old1, now, c1.Cost)
	if !ok {
		return false
	}
	if len(req.Claims) == 1 {
		if p.gated && !e.passExpress(t, req.Class) {
			return false
		}
		if !s1.Change(old1, next1) {
			e.leave(t)
			return false
		}
		t.keepExpress(e, l1, s1, next1, c1.Cost)
		t.remains(l1, room1)
		t.e, t.open = e, true
		e.counted(t, req.Class)
		return true
	}

	c := &req.Claims[1]
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
	next, room, ok := l.spend(old, now, c.Cost)
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
	if l1.kind == InFlight {
		t.keepExpress(e, l1, s1, next1, c1.Cost)
	}
	if l.kind == InFlight {
		t.keepExpress(e, l, s, next, c.Cost)
	}
	if l1.less(room1, l, room) {
		t.remains(l1, room1)
	} else {
		t.remains(l, room)
	}
	t.e, t.open = e, true
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

// spend is the limit's step on a word, and what it leaves: token units, or
// places.
func (l *limit) spend(old uint64, now, cost int64) (next, room uint64, ok bool) {
	if l.kind == InFlight {
		next, ok = l.rule.TakeFlight(old, cost)
		return next, uint64(l.max - bucket.InUse(next)), ok
	}
	return l.rule.SpendToken(old, l.rule.TokenAt(now), uint64(cost))
}

// less reports whether l leaves less than the other limit does.
func (l *limit) less(room uint64, o *limit, other uint64) bool { return l.whole(room) < o.whole(other) }

// whole is what spend left, in whole tokens or places.
func (l *limit) whole(room uint64) int64 {
	if l.kind == InFlight {
		return int64(room)
	}
	return l.rule.Tokens(room, l.slack)
}

// remains notes what the tightest limit leaves.
func (t *Ticket) remains(l *limit, room uint64) {
	t.d.Remaining, t.d.Limit = int64(room), l.id
	if l.kind != InFlight {
		t.tight = l
	}
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
