package engine

import (
	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// expressShared is the express way of a request with one claim on a bucket that a
// fleet shares, where the engine may charge its entries itself: alone, or beside a
// claim that the engine counts. While the ladder is at rest nothing can come
// between that would be refused sooner, but for the gate. It calls nothing of the
// fleet's, so there is nothing to recover from.
func (e *Engine) expressShared(t *Ticket, req *Request, p *plan) (told *limit, how answer) {
	if e.level.Load() != 0 {
		return nil, unanswered
	}
	c := &req.Claims[0]
	l := p.entered(c)
	if len(req.Claims) > 1 {
		o := &req.Claims[1]
		if l == nil {
			c, o = o, c
			l = p.entered(c)
		}
		if ol := p.ordinary(o); l != nil && ol != nil {
			return e.expressBeside(t, req, p, c, l, o, ol)
		}
		return nil, unanswered
	}
	if l == nil {
		return nil, unanswered
	}
	i, w, ok := l.wide.Find(c.Key, l.wideID)
	if !ok {
		return nil, unanswered
	}
	x := &l.wide.Entries[i]
	inc := x.Inc.Load()
	next, room := l.spend.SpendUnits(w, e.at(l), inc)
	if room < 0 {
		return nil, unanswered
	}
	if p.gated && (req.Class == Critical || !e.enterAtOnce(t)) && !e.enter(t, req.Class == Critical) {
		return nil, unanswered
	}
	if !x.Word.CompareAndSwap(w, next) {
		e.leave(t)
		return nil, unanswered
	}
	e.charged(l, x, i, w)
	t.left = int64(uint64(room) >> 8 / inc)
	return l, admitted
}

// expressBeside is expressShared for the claim c on the limit l and another.
func (e *Engine) expressBeside(t *Ticket, req *Request, p *plan, c *Claim, l *limit, o *Claim, ol *limit) (told *limit, how answer) {
	tag := shard.TagOf(o.Key.H, ol.table)
	s := e.table.Home(o.Key.H).Pick(tag)
	old, ok := s.Read(tag)
	if !ok {
		if s, old, ok = e.table.Seek(o.Key.H, tag); !ok {
			return nil, unanswered
		}
	}
	i, w, ok := l.wide.Find(c.Key, l.wideID)
	if !ok {
		return nil, unanswered
	}
	var other uint64
	var left int64
	if ol.kind == InFlight {
		other, ok = ol.rule.TakeFlight(old, o.Cost)
	} else {
		other, left = ol.spend.Spend(old, e.at(ol), uint64(o.Cost))
		ok = left >= 0
	}
	x := &l.wide.Entries[i]
	inc := x.Inc.Load()
	next, room := l.spend.SpendUnits(w, e.at(l), inc)
	if !ok || room < 0 {
		return nil, unanswered
	}
	if p.gated && (req.Class == Critical || !e.enterAtOnce(t)) && !e.enter(t, req.Class == Critical) {
		return nil, unanswered
	}
	if !s.Change(old, other) {
		e.leave(t)
		return nil, unanswered
	}
	// Last, since its undo, unlike that of a place, may give back less than was taken.
	if !x.Word.CompareAndSwap(w, next) {
		e.table.Undo(&shard.Claim{Cost: o.Cost, Rule: &ol.rule, Slot: e.table.Index(s), Word: other})
		e.leave(t)
		return nil, unanswered
	}
	e.charged(l, x, i, w)
	t.left = int64(uint64(room) >> 8 / inc)
	if ol.kind == InFlight {
		left = ol.max - bucket.InUse(other)
		t.keepFlight(ol, e.table.Index(s), other, o.Cost)
	} else {
		left = ol.tokens(left)
	}
	if left < t.left || left == t.left && ol.id < l.id {
		t.left, l = left, ol
	}
	return l, admitted
}

// charged notes a token that was charged to an entry whose word was w.
func (e *Engine) charged(l *limit, x *shard.Entry, i uint32, w uint64) {
	x.Spent(w, 1)
	if x.Cost.Load() != 1 {
		x.Cost.Store(1)
	}
	if x.Link.Load() == 0 {
		e.asked(l, i)
	}
}

// asked tells the fleet that an entry has something to tell: once per exchange.
func (e *Engine) asked(l *limit, i uint32) {
	e.quietly(func() { l.shared.(Entered).Asked(i, e.time.published.Load()) })
}

// entered returns the limit of a claim on one token of a bucket whose entries the
// engine may charge itself, or nil.
func (p *plan) entered(c *Claim) *limit {
	if int(c.Limit) >= len(p.limits) || c.Cost != 1 {
		return nil
	}
	if l := p.limits[c.Limit]; l.wide != nil {
		return l
	}
	return nil
}
