package engine

import (
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/ladder"
	"github.com/weir-go/weir/shard"
)

// express answers the common request without the ceremony of decide: one or two
// enforced claims on token buckets or counts of requests in flight, in the order
// of the limits' handles, of keys that are known. It decides what decide would,
// in the same order. Whatever else a request is, it leaves no trace and reports
// false: then decide has to answer.
//
// It is written for few instructions: what it calls is inlined, but for what is
// rare, and what it keeps lies in registers. What remains is only counted, in
// tokens, when somebody asks the ticket for it.
func (e *Engine) express(t *Ticket, req *Request, p *plan) bool {
	if p.long {
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
			return e.refuseStranger(t, req, p, now)
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
	if !ok {
		return e.refuseExpress(t, req, p, l, now, [few]*shard.Slot{s}, false)
	}
	if p.gated || e.level.Load() != 0 {
		if pass, answered := e.layersExpress(t, req, p); !pass {
			return answered
		}
	}
	if !s.Change(old, next) {
		e.leave(t)
		return false
	}
	t.e, t.open, t.tight = e, true, l
	t.d.Remaining, t.d.Limit = int64(room), l.id
	e.lane().admitted[req.Class].Add(1)
	return true
}

// expressMore is the rest of express for two claims, or for one that is in
// flight: l1, s1 and old1 are what is found of the first.
func (e *Engine) expressMore(t *Ticket, req *Request, p *plan, l1 *limit, s1 *shard.Slot, old1 uint64, now int64) bool {
	c1 := &req.Claims[0]
	next1, room1, ok := l1.spend(old1, now, c1.Cost)
	if !ok {
		return e.refuseExpress(t, req, p, l1, now, [few]*shard.Slot{s1}, false)
	}
	if len(req.Claims) == 1 {
		if pass, answered := e.layersExpress(t, req, p); !pass {
			return answered
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
				return e.refuseStranger(t, req, p, now)
			}
		}
	}
	old, ok := s.Read(tag)
	if !ok {
		return false
	}
	next, room, ok := l.spend(old, now, c.Cost)
	if !ok {
		return e.refuseExpress(t, req, p, l, now, [few]*shard.Slot{s1, s}, true)
	}
	if pass, answered := e.layersExpress(t, req, p); !pass {
		return answered
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
	if l.less(room, l1, room1) {
		t.remains(l, room)
	} else {
		t.remains(l1, room1)
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

// layersExpress is layers 4 and 3. When it does not let the request pass, it has
// either answered it or leaves it to decide.
func (e *Engine) layersExpress(t *Ticket, req *Request, p *plan) (pass, answered bool) {
	if e.level.Load() != 0 && e.shedsExpress(req) {
		if e.layerMode[Worker].Load() != uint64(Enforce) {
			return false, false
		}
		e.refuse(t, req.Class, p, Decision{Reason: Shed, Layer: Worker, RetryAfter: p.ladderRetry})
		return false, true
	}
	if !p.gated {
		return true, false
	}
	if e.layerMode[Fleet].Load() != uint64(Enforce) {
		return false, false
	}
	if !e.enter(t, req.Class == Critical) {
		e.refuse(t, req.Class, p, Decision{Reason: Reserved, Layer: Fleet, RetryAfter: p.gateRetry})
		return false, true
	}
	return true, false
}

// shedsExpress reports whether the level sheds the request.
func (e *Engine) shedsExpress(req *Request) bool {
	who := req.Cohort
	if who == 0 {
		who = req.Claims[0].Key.P
	}
	return ladder.Word(e.level.Load()).Sheds(int(req.Class-Test), who)
}

// refuseStranger refuses a request with a key that is not known, which every
// limit lets pass, if something else refuses it: then the key need not become
// known. Everything here only looks.
func (e *Engine) refuseStranger(t *Ticket, req *Request, p *plan, now int64) bool {
	var found [few]*shard.Slot
	var refusing *limit
	for i := range req.Claims {
		c := &req.Claims[i]
		l := p.ordinary(c)
		if l == nil || i > 0 && c.Limit <= req.Claims[0].Limit {
			return false
		}
		tag := shard.TagOf(c.Key.H, l.table)
		s := e.table.Home(c.Key.H).Slot(tag)
		if s == nil {
			if s = e.table.Away(c.Key.H, tag); s == nil {
				continue
			}
		}
		found[i%few] = s
		if old, ok := s.Read(tag); !ok {
			return false
		} else if _, _, ok = l.spend(old, now, c.Cost); !ok {
			refusing = l
		}
	}
	if refusing != nil {
		return e.refuseExpress(t, req, p, refusing, now, found, true)
	}
	if e.level.Load() != 0 && e.shedsExpress(req) {
		if e.layerMode[Worker].Load() != uint64(Enforce) {
			return false
		}
		e.refuse(t, req.Class, p, Decision{Reason: Shed, Layer: Worker, RetryAfter: p.ladderRetry})
		return true
	}
	if p.gated && e.layerMode[Fleet].Load() == uint64(Enforce) && e.lease.Load() == nil && !e.gate.Fits(req.Class == Critical) {
		e.refuse(t, req.Class, p, Decision{Reason: Reserved, Layer: Fleet, RetryAfter: p.gateRetry})
		return true
	}
	return false
}

// refuseExpress refuses the request if, on the true time, one of its claims still
// does not fit; else it is left to decide. by is a limit that refuses it on the
// published time; found are the slots of its claims, as
// far as they are looked for: with all, one that is nil has a key never seen.
func (e *Engine) refuseExpress(t *Ticket, req *Request, p *plan, by *limit, now int64, found [few]*shard.Slot, all bool) bool {
	var gate Decision
	sure := by.kind != InFlight // a count in flight knows no time
	if sure {
		now = e.time.Now()
	}
	for i := 0; i < len(req.Claims); i++ {
		c := &req.Claims[i]
		l := p.ordinary(c)
		if l == nil || i > 0 && c.Limit <= req.Claims[0].Limit {
			return false
		}
		if l.kind == InFlight && gate.RetryAfter >= l.retry {
			continue // whatever it says, it does not gate
		}
		tag := shard.TagOf(c.Key.H, l.table)
		s := found[i%few]
		if s == nil && !all {
			if s = e.table.Home(c.Key.H).Slot(tag); s == nil {
				s = e.table.Away(c.Key.H, tag)
			}
		}
		if s == nil {
			continue // every limit lets pass a key never seen
		}
		old, ok := s.Read(tag)
		if !ok {
			return false
		}
		d := Decision{Reason: l.reason(), Layer: l.layer, Limit: l.id, RetryAfter: l.retry}
		if l.kind == InFlight {
			if _, ok = l.rule.TakeFlight(old, c.Cost); ok {
				continue
			}
			d.Remaining = l.rule.Left(old, 0)
		} else {
			at := l.rule.TokenAt(now)
			if _, _, ok = l.rule.SpendToken(old, at, uint64(c.Cost)); ok {
				continue
			}
			if !sure {
				now, sure, i, gate = e.time.Now(), true, -1, Decision{}
				continue
			}
			d.RetryAfter = time.Duration(l.rule.WaitToken(old, at, now, c.Cost))
			d.Remaining = int64(l.rule.Room(old, at)) // counted when asked for
		}
		if !s.Still(old) {
			return false
		}
		if gate.Layer == LayerNone || later(d, gate) {
			gate = d
		}
	}
	if gate.Layer == LayerNone {
		return false
	}
	if sure {
		e.publishLate(now)
	}
	if gate.Layer == Rate {
		t.tight = &p.limits[gate.Limit]
	}
	e.refuse(t, req.Class, p, gate)
	return true
}

// keepExpress notes what a claim that express has charged has to give back.
func (t *Ticket) keepExpress(e *Engine, l *limit, s *shard.Slot, next uint64, cost int64) {
	h := &t.holds[t.n%few]
	h.word, h.cost, h.slot, h.limit = bucket.Life(next), cost, e.table.Index(s), l.id
	t.n++
}
