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
// Two kinds of request have ways shorter still: a lone claim on a bucket, in Admit
// itself, and one on a bucket that a fleet shares (expressShared). Those know only
// how to admit, and leave everything else to these.
//
// It is written for few instructions and few stores: a processor that has room for
// the whole of a decision fetches the next one's cache line while it waits for this
// one's. What is called is inlined, but for what is rare; time is read in the
// bucket's own units; what remains of a lone bucket is only counted, in tokens, when
// somebody asks the ticket for it.

// answer is how a request came out of the express way.
type answer uint8

const (
	unanswered answer = iota
	admitted          // and still to be counted
	refused
)

// expressNone is the way of a request that claims nothing. Whom the ladder sheds of
// those, decide says. Like the others it returns the limit that the decision tells
// of.
func (e *Engine) expressNone(t *draft, req *Request, p *plan) (told *limit, how answer) {
	if e.level.Load() != 0 {
		return nil, unanswered
	}
	if p.gated && (req.Class == Critical || !e.enterAtOnce(t)) {
		if !e.enter(t, req.Class == Critical) {
			return e.refuseLayer(t, req, p, Fleet)
		}
	}
	t.left = -1
	return p.limits[0], admitted
}

// expressOne is the way of one claim.
func (e *Engine) expressOne(t *draft, req *Request, p *plan) (told *limit, how answer) {
	c := &req.Claims[0]
	l := p.ordinary(c)
	if l == nil {
		return nil, unanswered
	}
	tag := shard.TagOf(c.Key.H, l.table)
	s := e.table.Home(c.Key.H).Pick(tag)
	old, ok := s.Read(tag)
	if !ok {
		if s, old, ok = e.table.Seek(c.Key.H, tag); s == nil {
			return e.refuseStranger(t, req, p)
		} else if !ok {
			return nil, unanswered
		}
	}
	var next uint64
	var room int64
	if l.kind == InFlight {
		next, ok = l.rule.TakeFlight(old, c.Cost)
	} else {
		next, room = l.spend.Spend(old, e.at(l), uint64(c.Cost))
		ok = room >= 0
	}
	if !ok {
		return e.refuseExpress(t, req, p, l, [few]*shard.Slot{s})
	}
	if e.level.Load() != 0 && e.shedsExpress(req) {
		return e.refuseLayer(t, req, p, Worker)
	}
	if p.gated && (req.Class == Critical || !e.enterAtOnce(t)) {
		if !e.enter(t, req.Class == Critical) {
			return e.refuseLayer(t, req, p, Fleet)
		}
	}
	if !s.Change(old, next) {
		e.leave(t)
		return nil, unanswered
	}
	if l.kind == InFlight {
		t.left = l.max - bucket.InUse(next)
		t.keepFlight(0, l, e.table.Index(s), next, c.Cost)
	} else {
		t.left = l.tokens(room)
	}
	return l, admitted
}

// expressTwo is the way of two claims.
func (e *Engine) expressTwo(t *draft, req *Request, p *plan) (told *limit, how answer) {
	c1, c2 := &req.Claims[0], &req.Claims[1]
	l1, l2 := p.ordinary(c1), p.ordinary(c2)
	if l1 == nil || l2 == nil || c2.Limit <= c1.Limit {
		return nil, unanswered
	}
	tag1, tag2 := shard.TagOf(c1.Key.H, l1.table), shard.TagOf(c2.Key.H, l2.table)
	s1 := e.table.Home(c1.Key.H).Pick(tag1)
	old1, ok1 := s1.Read(tag1)
	if !ok1 {
		if s1, old1, ok1 = e.table.Seek(c1.Key.H, tag1); s1 == nil {
			return e.refuseStranger(t, req, p)
		} else if !ok1 {
			return nil, unanswered
		}
	}
	s2 := s1.Next()
	old2, ok2 := s2.Read(tag2)
	if !ok2 {
		if s2, old2, ok2 = e.table.Seek(c2.Key.H, tag2); s2 == nil {
			return e.refuseStranger(t, req, p)
		} else if !ok2 {
			return nil, unanswered
		}
	}
	var next1, next2 uint64
	var room1, room2 int64
	if l1.kind == InFlight {
		next1, ok1 = l1.rule.TakeFlight(old1, c1.Cost)
	} else {
		next1, room1 = l1.spend.Spend(old1, e.at(l1), uint64(c1.Cost))
		ok1 = room1 >= 0
	}
	if !ok1 {
		return e.refuseExpress(t, req, p, l1, [few]*shard.Slot{s1, s2})
	}
	if l2.kind == InFlight {
		next2, ok2 = l2.rule.TakeFlight(old2, c2.Cost)
	} else {
		next2, room2 = l2.spend.Spend(old2, e.at(l2), uint64(c2.Cost))
		ok2 = room2 >= 0
	}
	if !ok2 {
		return e.refuseExpress(t, req, p, l2, [few]*shard.Slot{s1, s2})
	}
	if e.level.Load() != 0 && e.shedsExpress(req) {
		return e.refuseLayer(t, req, p, Worker)
	}
	if p.gated && (req.Class == Critical || !e.enterAtOnce(t)) {
		if !e.enter(t, req.Class == Critical) {
			return e.refuseLayer(t, req, p, Fleet)
		}
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
	if l1.kind == InFlight {
		t.left = l1.max - bucket.InUse(next1)
		t.keepFlight(0, l1, e.table.Index(s1), next1, c1.Cost)
	} else {
		t.left = l1.tokens(room1)
	}
	var left int64
	if l2.kind == InFlight {
		left = l2.max - bucket.InUse(next2)
		t.keepFlight(t.n, l2, e.table.Index(s2), next2, c2.Cost)
	} else {
		left = l2.tokens(room2)
	}
	if left < t.left {
		t.left, l1 = left, l2
	}
	return l1, admitted
}

// ordinary returns the limit of a claim that the express way can decide, or nil.
func (p *plan) ordinary(c *Claim) *limit {
	if int(c.Limit) >= len(p.limits) {
		return nil
	}
	l := p.limits[c.Limit]
	// A cost from 1 to max; limits that need more than is known here have 0.
	if uint64(c.Cost)-1 >= l.express {
		return nil
	}
	return l
}

// tokens is how many whole tokens room is.
func (l *limit) tokens(room int64) int64 { return l.rule.SpentLeft(room, l.slack) }

// keepFlight notes, as the ticket's hold i and last, what a claim in flight has to
// give back.
func (t *draft) keepFlight(i uint8, l *limit, slot uint32, word uint64, cost int64) {
	h := &t.holds[i%few]
	h.word, h.slot, h.limit, h.kind = bucket.FlightPart(word, cost), slot, l.id, holdFlight
	t.n = i + 1
}

// refuseLayer refuses for layer 4 or 3.
func (e *Engine) refuseLayer(t *draft, req *Request, p *plan, l Layer) (told *limit, how answer) {
	if l == Worker {
		if e.layerMode[Worker].Load() != uint64(Enforce) {
			return nil, unanswered
		}
		t.refuse(Shed, Worker, p.ladderRetry)
		e.tally().ladder[req.Class].Add(1)
		return p.limits[0], refused
	}
	e.wanted(req.Class == Critical)
	t.refuse(Reserved, Fleet, p.gateRetry)
	e.tally().gate[req.Class].Add(1)
	return p.limits[0], refused
}

// shedsExpress reports whether the level sheds the request.
func (e *Engine) shedsExpress(req *Request) bool {
	who := req.Cohort
	if who == 0 {
		who = req.Claims[0].Key.P
	}
	return ladder.Word(e.level.Load()).Sheds(int(req.Class-Test), who)
}
