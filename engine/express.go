package engine

import (
	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/ladder"
	"github.com/weir-go/weir/shard"
)

// The express way answers the common request without the ceremony of decide: up to
// two enforced claims on token buckets or counts of requests in flight, in the
// order of the limits' handles. It decides what decide would, in the same order.
// Whatever else a request is, it leaves no trace and is not answered: then decide
// has to.
//
// It is written for few instructions: what it calls is inlined, but for what is
// rare, and what it keeps lies in registers. What remains is kept in the bucket's
// units and only counted, in tokens, when somebody asks the ticket for it. The
// ticket is written before the last locked instruction: the caller copies it whole,
// and reading together what was just written in parts takes as long as the rest.

// answer is how a request came out of the express way.
type answer uint8

const (
	unanswered answer = iota
	admitted          // and still to be counted: that is the last that is written
	refused
)

// expressNone is the way of a request that claims nothing. Whom the ladder sheds of
// those, decide says.
func (e *Engine) expressNone(t *Ticket, req *Request, p *plan) (how answer) {
	if e.level.Load() != 0 {
		return unanswered
	}
	if p.gated && !e.enter(t, req.Class == Critical) {
		_, how = e.refuseLayer(t, req, p, Fleet)
		return how
	}
	t.open, t.d.Remaining = true, -1
	return admitted
}

// expressOne is the way of one claim. tight is the bucket whose units the
// ticket's room is in.
func (e *Engine) expressOne(t *Ticket, req *Request, p *plan) (tight *limit, how answer) {
	c := &req.Claims[0]
	l := p.ordinary(c)
	if l == nil {
		return nil, unanswered
	}
	now := e.now()
	tag := shard.TagOf(c.Key.H, l.table)
	s := e.table.Home(c.Key.H).Pick(tag)
	old, ok := s.Read(tag)
	if !ok {
		if s = e.table.Slot(c.Key.H, tag); s == nil {
			return e.refuseStranger(t, req, p, now)
		}
		if old, ok = s.Read(tag); !ok {
			return nil, unanswered
		}
	}
	var next, room uint64
	if l.kind == InFlight {
		next, ok = l.rule.TakeFlight(old, c.Cost)
	} else {
		next, room, ok = l.rule.SpendToken(old, l.rule.TokenAt(now), uint64(c.Cost))
	}
	if !ok {
		return e.refuseExpress(t, req, p, now, l, [few]*shard.Slot{s})
	}
	if e.level.Load() != 0 && e.shedsExpress(req) {
		return e.refuseLayer(t, req, p, Worker)
	}
	if p.gated && !e.enter(t, req.Class == Critical) {
		return e.refuseLayer(t, req, p, Fleet)
	}
	if !s.Change(old, next) {
		e.leave(t)
		return nil, unanswered
	}
	t.open = true
	if l.kind == InFlight {
		t.d.Remaining, t.d.Limit = l.max-bucket.InUse(next), l.id
		t.keepFlight(0, l, e.table.Index(s), next, c.Cost)
		return nil, admitted
	}
	t.room = room
	return l, admitted
}

// expressTwo is the way of two claims.
func (e *Engine) expressTwo(t *Ticket, req *Request, p *plan) (tight *limit, how answer) {
	c1, c2 := &req.Claims[0], &req.Claims[1]
	l1, l2 := p.ordinary(c1), p.ordinary(c2)
	if l1 == nil || l2 == nil || c2.Limit <= c1.Limit {
		return nil, unanswered
	}
	now := e.now()
	tag1, tag2 := shard.TagOf(c1.Key.H, l1.table), shard.TagOf(c2.Key.H, l2.table)
	s1 := e.table.Home(c1.Key.H).Pick(tag1)
	old1, ok1 := s1.Read(tag1)
	if !ok1 {
		if s1 = e.table.Slot(c1.Key.H, tag1); s1 == nil {
			return e.refuseStranger(t, req, p, now)
		}
		if old1, ok1 = s1.Read(tag1); !ok1 {
			return nil, unanswered
		}
	}
	s2 := s1.Next()
	old2, ok2 := s2.Read(tag2)
	if !ok2 {
		if s2 = e.table.Slot(c2.Key.H, tag2); s2 == nil {
			return e.refuseStranger(t, req, p, now)
		}
		if old2, ok2 = s2.Read(tag2); !ok2 {
			return nil, unanswered
		}
	}
	var next1, next2, room1, room2 uint64
	if l1.kind == InFlight {
		next1, ok1 = l1.rule.TakeFlight(old1, c1.Cost)
	} else {
		next1, room1, ok1 = l1.rule.SpendToken(old1, l1.rule.TokenAt(now), uint64(c1.Cost))
	}
	if !ok1 {
		return e.refuseExpress(t, req, p, now, l1, [few]*shard.Slot{s1, s2})
	}
	if l2.kind == InFlight {
		next2, ok2 = l2.rule.TakeFlight(old2, c2.Cost)
	} else {
		next2, room2, ok2 = l2.rule.SpendToken(old2, l2.rule.TokenAt(now), uint64(c2.Cost))
	}
	if !ok2 {
		return e.refuseExpress(t, req, p, now, l2, [few]*shard.Slot{s1, s2})
	}
	if e.level.Load() != 0 && e.shedsExpress(req) {
		return e.refuseLayer(t, req, p, Worker)
	}
	if p.gated && !e.enter(t, req.Class == Critical) {
		return e.refuseLayer(t, req, p, Fleet)
	}
	if !s1.Change(old1, next1) {
		e.leave(t)
		return nil, unanswered
	}
	if !s2.Change(old2, next2) {
		e.table.Undo(&shard.Claim{Cost: c1.Cost, Rule: &l1.rule, Slot: e.table.Index(s1), Word: next1})
		e.leave(t)
		return nil, unanswered
	}
	t.open = true
	if l1.kind == InFlight {
		t.d.Remaining, t.d.Limit = l1.max-bucket.InUse(next1), l1.id
		t.keepFlight(0, l1, e.table.Index(s1), next1, c1.Cost)
	} else {
		tight, t.room = l1, room1
	}
	if l2.kind == InFlight {
		if left := l2.max - bucket.InUse(next2); t.d.Limit == 0 || left < t.d.Remaining {
			t.d.Remaining, t.d.Limit = left, l2.id
		}
		t.keepFlight(t.n, l2, e.table.Index(s2), next2, c2.Cost)
	} else if tight == nil || l2.tokens(room2) < l1.tokens(room1) {
		tight, t.room = l2, room2
	}
	return tight, admitted
}

// ordinary returns the limit of a claim that the express way can decide, or nil.
func (p *plan) ordinary(c *Claim) *limit {
	if int(c.Limit) >= len(p.limits) {
		return nil
	}
	l := &p.limits[c.Limit]
	// A cost from 1 to max; limits that need more than is known here have 0.
	if uint64(c.Cost)-1 >= l.express {
		return nil
	}
	return l
}

// tokens is how many whole tokens room is.
func (l *limit) tokens(room uint64) int64 { return l.rule.Tokens(room, l.slack) }

// keepFlight notes, as the ticket's hold i, what a claim in flight has to give
// back.
func (t *Ticket) keepFlight(i uint8, l *limit, slot uint32, word uint64, cost int64) {
	h := &t.holds[i%few]
	h.word, h.cost, h.slot, h.limit = bucket.Life(word), cost, slot, l.id
	t.n = i + 1
}

// refuseLayer refuses for layer 4 or 3.
func (e *Engine) refuseLayer(t *Ticket, req *Request, p *plan, l Layer) (tight *limit, how answer) {
	if l == Worker {
		if e.layerMode[Worker].Load() != uint64(Enforce) {
			return nil, unanswered
		}
		t.d.Reason, t.d.Layer, t.d.RetryAfter = Shed, Worker, p.ladderRetry
		e.tally().ladder[req.Class].Add(1)
		return nil, refused
	}
	e.wanted(req.Class == Critical)
	t.d.Reason, t.d.Layer, t.d.RetryAfter = Reserved, Fleet, p.gateRetry
	e.tally().gate[req.Class].Add(1)
	return nil, refused
}

// shedsExpress reports whether the level sheds the request.
func (e *Engine) shedsExpress(req *Request) bool {
	who := req.Cohort
	if who == 0 {
		who = req.Claims[0].Key.P
	}
	return ladder.Word(e.level.Load()).Sheds(int(req.Class-Test), who)
}
