package engine

import (
	"time"

	"github.com/weir-go/weir/shard"
)

// refuseStranger refuses a request with a key that is not known, which every
// limit lets pass, if something else refuses it: then the key need not become
// known. Everything here only looks.
func (e *Engine) refuseStranger(t *Ticket, req *Request, p *plan, now int64) (tight *limit, how answer) {
	var found [few]*shard.Slot
	var refusing *limit
	for i := range req.Claims {
		c := &req.Claims[i]
		l := &p.limits[c.Limit]
		tag := shard.TagOf(c.Key.H, l.table)
		s := e.table.Slot(c.Key.H, tag)
		if s == nil {
			continue
		}
		found[i%few] = s
		word, ok := s.Read(tag)
		switch {
		case !ok:
			return nil, unanswered
		case l.kind == InFlight:
			_, ok = l.rule.TakeFlight(word, c.Cost)
		default:
			_, ok = l.rule.TakeToken(word, l.rule.TokenAt(now), uint64(c.Cost))
		}
		if !ok {
			refusing = l
		}
	}
	if refusing != nil {
		return e.refuseExpress(t, req, p, now, refusing, found)
	}
	if e.level.Load() != 0 && e.shedsExpress(req) {
		return e.refuseLayer(t, req, p, Worker)
	}
	if p.gated && e.lease.Load() == nil && !e.gate.Fits(req.Class == Critical) {
		return e.refuseLayer(t, req, p, Fleet)
	}
	return nil, unanswered
}

// refuseExpress refuses the request if, on the true time, one of its claims still
// does not fit; else it is left to decide. by is a limit that refuses it on the
// published time; found are the claims' slots, nil for a key that is not known,
// which refuses nothing.
//
// The ticket's decision is filled field by field, where it is to stay: to copy it
// whole stalls on the parts that were just written.
func (e *Engine) refuseExpress(t *Ticket, req *Request, p *plan, now int64, by *limit, found [few]*shard.Slot) (tight *limit, how answer) {
	sure := by.kind != InFlight // a count in flight knows no time
	if sure {
		now = e.time.Now()
	}
	var gates *limit
	for i := 0; i < len(req.Claims); i++ {
		s := found[i%few]
		if s == nil {
			continue
		}
		c := &req.Claims[i]
		l := &p.limits[c.Limit]
		word, ok := s.Read(shard.TagOf(c.Key.H, l.table))
		if !ok {
			return t.undecided()
		}
		retry, left, room := l.retry, int64(0), uint64(0)
		if l.kind == InFlight {
			if _, ok = l.rule.TakeFlight(word, c.Cost); ok {
				continue
			}
			left = l.rule.Left(word, 0)
		} else {
			at := l.rule.TokenAt(now)
			short := l.rule.ShortToken(word, at, uint64(c.Cost))
			if short == 0 {
				continue
			}
			if !sure {
				now, sure, i, gates = e.time.Now(), true, -1, nil
				continue
			}
			retry, room = time.Duration(l.rule.Gains(now, short)), l.rule.Room(word, at)
		}
		if !s.Still(word) {
			return t.undecided()
		}
		if gates == nil || retry > t.d.RetryAfter {
			gates, t.d.Limit, t.d.RetryAfter, t.d.Remaining, t.room = l, l.id, retry, left, room
		}
	}
	if gates == nil {
		return t.undecided()
	}
	if sure {
		e.publishLate(now)
	}
	t.d.Reason, t.d.Layer = gates.reason(), gates.layer
	if gates.kind == TokenBucket {
		t.tight = gates
	}
	gates.ctl.tally().refused[req.Class][t.d.Reason].Add(1)
	return nil, refused
}

// undecided takes back what refuseExpress wrote down.
func (t *Ticket) undecided() (tight *limit, how answer) {
	t.d, t.room = Decision{}, 0
	return nil, unanswered
}
