package engine

import (
	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/internal/atom"
	"github.com/weir-go/weir/shard"
)

// express admits the common request without the ceremony of decide: one or two
// enforced claims on token buckets or counts of requests in flight, of keys that
// are known, which fit as of the published time, while the ladder sheds nothing.
// It decides what decide would, in the same order. Whatever else a request is, it
// leaves no trace and reports false: then decide has to answer.
func (e *Engine) express(t *Ticket, req *Request, p *plan) bool {
	n := len(req.Claims)
	if uint(n-1) >= few || p.long || e.level.Load() != 0 || req.Class-Test > Critical-Test {
		return false
	}
	now := e.now()
	a := e.lane(p, &req.Claims[0], now, shard.None)
	if a.at == nil {
		return false
	}
	if n == few {
		return e.both(t, req, p, a, now)
	}
	if p.gated && !e.passExpress(t, req.Class == Critical) {
		return false
	}
	if !a.at.CompareAndSwap(a.word, a.next) {
		e.leave(t)
		return false
	}
	t.e, t.open = e, true
	t.d.Remaining, t.d.Limit = a.left, req.Claims[0].Limit
	if a.holds {
		t.keepFlight(a, &req.Claims[0])
	}
	e.counted(t, req.Class)
	return true
}

// both is the rest of express for two claims.
func (e *Engine) both(t *Ticket, req *Request, p *plan, a lane, now int64) bool {
	ca, cb := &req.Claims[0], &req.Claims[1]
	hint := shard.None
	if ca.Key.H == cb.Key.H {
		hint = a.slot
	}
	b := e.lane(p, cb, now, hint)
	if b.at == nil || ca.Limit == cb.Limit {
		return false
	}
	if cb.Limit < ca.Limit {
		a, b, ca, cb = b, a, cb, ca
	}
	if p.gated && !e.passExpress(t, req.Class == Critical) {
		return false
	}
	if !a.at.CompareAndSwap(a.word, a.next) {
		e.leave(t)
		return false
	}
	if !b.at.CompareAndSwap(b.word, b.next) {
		e.table.Undo(&shard.Claim{Cost: ca.Cost, Rule: &p.limits[ca.Limit].rule, Slot: a.slot, Word: a.next})
		e.leave(t)
		return false
	}
	t.e, t.open = e, true
	t.d.Remaining, t.d.Limit = a.left, ca.Limit
	if b.left < a.left {
		t.d.Remaining, t.d.Limit = b.left, cb.Limit
	}
	if a.holds {
		t.keepFlight(a, ca)
	}
	if b.holds {
		t.keepFlight(b, cb)
	}
	e.counted(t, req.Class)
	return true
}

// passExpress takes a place in the gate when nothing about it is out of the
// ordinary.
func (e *Engine) passExpress(t *Ticket, critical bool) bool {
	if e.layerMode[Fleet].Load() != uint64(Enforce) || e.lease.Load() != nil || !e.gate.Enter(critical) {
		return false
	}
	t.gate = gateOther
	if critical {
		t.gate = gateCritical
	}
	return true
}

// lane is one claim on the express way.
type lane struct {
	at         *atom.Uint64 // the key's word; nil when decide has to answer
	word, next uint64
	left       int64
	slot       uint32
	holds      bool
}

// lane decides the claim on the key's word, if everything about it is ordinary.
func (e *Engine) lane(p *plan, c *Claim, now int64, hint uint32) (ln lane) {
	if int(c.Limit) >= len(p.limits) {
		return ln
	}
	l := &p.limits[c.Limit]
	// A cost from 1 to max; limits that need more than this have 0 here.
	if uint64(c.Cost)-1 >= l.express || l.ctl.mode.Load() != uint64(Enforce) {
		return ln
	}
	at, slot, word := e.table.Known(c.Key.H, l.table, hint)
	if at == nil {
		return ln
	}
	if l.kind == InFlight {
		next, ok := l.rule.TakeFlight(word, c.Cost)
		if !ok {
			return ln
		}
		return lane{at: at, word: word, next: next, left: l.max - bucket.InUse(next), slot: slot, holds: true}
	}
	instant := l.rule.TokenAt(now)
	next, ok := l.rule.TakeToken(word, instant, uint64(c.Cost))
	if !ok {
		return ln
	}
	return lane{at: at, word: word, next: next, left: l.rule.LeftToken(next, instant+l.slack), slot: slot}
}

func (t *Ticket) keepFlight(ln lane, c *Claim) {
	h := &t.holds[t.n%few]
	h.word, h.cost, h.slot, h.limit = bucket.Life(ln.next), c.Cost, ln.slot, c.Limit
	t.n++
}
