package engine

import (
	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/internal/atom"
	"github.com/weir-go/weir/shard"
)

// express admits the common request without the ceremony of decide: one or two
// enforced claims on token buckets or counts of requests in flight, in the order
// of the limits' handles, of keys that are known, which fit as of the published
// time, while the ladder sheds nothing. It decides what decide would, in the
// same order. Whatever else a request is, it leaves no trace and reports false:
// then decide has to answer.
//
// It is written for few instructions: what is kept lies in registers, and no
// struct of more than four words is passed or returned.
func (e *Engine) express(t *Ticket, req *Request, p *plan) bool {
	n := len(req.Claims)
	if uint(n-1) >= few || p.long || e.level.Load() != 0 || req.Class-Test > Critical-Test {
		return false
	}
	now := e.now()
	c := &req.Claims[0]
	word, old, next, left, slot := e.known(p, c, now, shard.None)
	if word == nil {
		return false
	}
	if n == few {
		return e.expressTwo(t, req, p, now, word, old, next, left, slot)
	}
	if p.gated && !e.passExpress(t, req.Class) {
		return false
	}
	if !word.CompareAndSwap(old, next) {
		e.leave(t)
		return false
	}
	t.e, t.open = e, true
	t.d.Remaining, t.d.Limit = left, c.Limit
	t.keepExpress(p, c, next, slot)
	e.counted(t, req.Class)
	return true
}

// expressTwo is the rest of express for two claims.
func (e *Engine) expressTwo(t *Ticket, req *Request, p *plan, now int64, word *atom.Uint64, old, next uint64, left int64, slot uint32) bool {
	c, c2 := &req.Claims[0], &req.Claims[1]
	if c.Limit >= c2.Limit {
		return false
	}
	beside := shard.None
	if c.Key.H == c2.Key.H {
		beside = slot
	}
	word2, old2, next2, left2, slot2 := e.known(p, c2, now, beside)
	if word2 == nil || p.gated && !e.passExpress(t, req.Class) {
		return false
	}
	if !word.CompareAndSwap(old, next) {
		e.leave(t)
		return false
	}
	if !word2.CompareAndSwap(old2, next2) {
		e.table.Undo(&shard.Claim{Cost: c.Cost, Rule: &p.limits[c.Limit].rule, Slot: slot, Word: next})
		e.leave(t)
		return false
	}
	t.e, t.open = e, true
	t.d.Remaining, t.d.Limit = left, c.Limit
	if left2 < left {
		t.d.Remaining, t.d.Limit = left2, c2.Limit
	}
	t.keepExpress(p, c, next, slot)
	t.keepExpress(p, c2, next2, slot2)
	e.counted(t, req.Class)
	return true
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

// known decides the claim on the key's word, if everything about it is ordinary;
// else word is nil. beside is the slot of another word of the same key.
func (e *Engine) known(p *plan, c *Claim, now int64, beside uint32) (word *atom.Uint64, old, next uint64, left int64, slot uint32) {
	if int(c.Limit) >= len(p.limits) {
		return
	}
	l := &p.limits[c.Limit]
	// A cost from 1 to max; limits that need more than this have 0 here.
	if uint64(c.Cost)-1 >= l.express || l.ctl.mode.Load() != uint64(Enforce) {
		return
	}
	word, slot, old = e.table.Known(c.Key.H, l.table, beside)
	if word == nil {
		return
	}
	var ok bool
	if l.kind == InFlight {
		next, ok = l.rule.TakeFlight(old, c.Cost)
		left = l.max - bucket.InUse(next)
	} else {
		at := l.rule.TokenAt(now)
		next, ok = l.rule.TakeToken(old, at, uint64(c.Cost))
		left = l.rule.LeftToken(next, at+l.slack)
	}
	if !ok {
		word = nil
	}
	return
}

// keepExpress notes what a claim that express has charged has to give back.
func (t *Ticket) keepExpress(p *plan, c *Claim, next uint64, slot uint32) {
	if l := &p.limits[c.Limit]; l.holds {
		h := &t.holds[t.n%few]
		h.word, h.cost, h.slot, h.limit = bucket.Life(next), c.Cost, slot, c.Limit
		t.n++
	}
}
