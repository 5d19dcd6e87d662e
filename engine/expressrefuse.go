package engine

import (
	"time"

	"github.com/weir-go/weir/shard"
)

// expressFind is what the refusals of the express way know of a claim: its
// limit, nil if decide has to answer; and its slot, nil for a key that is not
// known, with the word in it.
func (e *Engine) expressFind(req *Request, p *plan, i int) (l *limit, s *shard.Slot, word uint64) {
	c := &req.Claims[i]
	l = p.ordinary(c)
	if l == nil || i > 0 && c.Limit <= req.Claims[0].Limit {
		return nil, nil, 0
	}
	tag := shard.TagOf(c.Key.H, l.table)
	if s = e.table.Slot(c.Key.H, tag); s == nil {
		return l, nil, 0
	}
	word, ok := s.Read(tag)
	if !ok {
		return nil, nil, 0
	}
	return l, s, word
}

// fits reports whether the word has room for the cost at now.
func (l *limit) fits(word uint64, now, cost int64) (ok bool) {
	if l.kind == InFlight {
		_, ok = l.rule.TakeFlight(word, cost)
	} else {
		_, ok = l.rule.TakeToken(word, l.rule.TokenAt(now), uint64(cost))
	}
	return ok
}

// refuseStranger refuses a request with a key that is not known, which every
// limit lets pass, if something else refuses it: then the key need not become
// known. Everything here only looks.
func (e *Engine) refuseStranger(t *Ticket, req *Request, p *plan, now int64) (tight *limit, answered bool) {
	var refusing *limit
	for i := range req.Claims {
		l, s, word := e.expressFind(req, p, i)
		switch {
		case l == nil:
			return nil, false
		case s != nil && !l.fits(word, now, req.Claims[i].Cost):
			refusing = l
		}
	}
	if refusing != nil {
		return e.refuseExpress(t, req, p, now, refusing)
	}
	if e.level.Load() != 0 && e.shedsExpress(req) {
		return e.refuseLayer(t, req, p, Worker)
	}
	if p.gated && e.lease.Load() == nil && !e.gate.Fits(req.Class == Critical) {
		return e.refuseLayer(t, req, p, Fleet)
	}
	return nil, false
}

// refuseExpress refuses the request if, on the true time, one of its claims still
// does not fit; else it is left to decide. by is a limit that refuses it on the
// published time. A key that is not known refuses nothing.
func (e *Engine) refuseExpress(t *Ticket, req *Request, p *plan, now int64, by *limit) (tight *limit, answered bool) {
	var gate Decision
	sure := by.kind != InFlight // a count in flight knows no time
	if sure {
		now = e.time.Now()
	}
	for i := 0; i < len(req.Claims); i++ {
		l, s, word := e.expressFind(req, p, i)
		if l == nil {
			return nil, false
		}
		if s == nil {
			continue
		}
		cost := req.Claims[i].Cost
		if l.kind != InFlight && !sure && !l.fits(word, now, cost) {
			now, sure, i, gate = e.time.Now(), true, -1, Decision{}
			continue
		}
		if l.fits(word, now, cost) {
			continue
		}
		d := Decision{Reason: l.reason(), Layer: l.layer, Limit: l.id, RetryAfter: l.retry}
		room := uint64(0)
		if l.kind == InFlight {
			d.Remaining = l.rule.Left(word, 0)
		} else {
			at := l.rule.TokenAt(now)
			d.RetryAfter = time.Duration(l.rule.WaitToken(word, at, now, cost))
			room = l.rule.Room(word, at)
		}
		if !s.Still(word) {
			return nil, false
		}
		if gate.Layer == LayerNone || later(d, gate) {
			gate, t.room, tight = d, room, nil
			if l.kind != InFlight {
				tight = l
			}
		}
	}
	if gate.Layer == LayerNone {
		return nil, false
	}
	if sure {
		e.publishLate(now)
	}
	e.refuse(t, req.Class, p, gate)
	return tight, true
}
