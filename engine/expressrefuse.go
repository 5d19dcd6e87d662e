package engine

import (
	"time"

	"github.com/weir-go/weir/shard"
)

// refuseStranger refuses a request with a key that is not known, which every
// limit lets pass, if something else refuses it: then the key need not become
// known. Everything here only looks.
func (e *Engine) refuseStranger(t *draft, req *Request, p *plan) (told *limit, how answer) {
	var found [few]*shard.Slot
	var refusing *limit
	for i := range req.Claims {
		c := &req.Claims[i]
		l := p.limits[c.Limit]
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
			_, room := l.spend.Spend(word, e.at(l), uint64(c.Cost))
			ok = room >= 0
		}
		if !ok {
			refusing = l
		}
	}
	if refusing != nil {
		return e.refuseExpress(t, req, p, refusing, found)
	}
	if e.level.Load() != 0 && e.shedsExpress(req) {
		return e.refuseLayer(t, req, p, Worker)
	}
	if p.gated && e.lease.Load() == nil && !e.fits(req.Class == Critical) {
		return e.refuseLayer(t, req, p, Fleet)
	}
	return nil, unanswered
}

// refuseExpress refuses the request if, on the true time, one of its claims still
// does not fit; else it is left to decide. by is a limit that refuses it on the
// published time; found are the claims' slots, nil for a key that is not known,
// which refuses nothing.
func (e *Engine) refuseExpress(t *draft, req *Request, p *plan, by *limit, found [few]*shard.Slot) (told *limit, how answer) {
	var now int64
	sure := by.kind != InFlight // a count in flight knows no time
	if sure {
		now = e.time.Now()
	}
	var gates *limit
	var wait time.Duration
	var left int64
	for i := 0; i < len(req.Claims); i++ {
		s := found[i%few]
		if s == nil {
			continue
		}
		c := &req.Claims[i]
		l := p.limits[c.Limit]
		word, ok := s.Read(shard.TagOf(c.Key.H, l.table))
		if !ok {
			return nil, unanswered
		}
		retry, remains := l.retry, int64(0)
		if l.kind == InFlight {
			if _, ok = l.rule.TakeFlight(word, c.Cost); ok {
				continue
			}
			remains = l.rule.Left(word, 0)
		} else {
			if !sure {
				// What fits on an earlier time fits now.
				if _, room := l.spend.Spend(word, e.at(l), uint64(c.Cost)); room >= 0 {
					continue
				}
				now, sure = e.time.Now(), true
			}
			at := l.rule.TokenAt(now)
			short := l.rule.ShortToken(word, at, uint64(c.Cost))
			if short == 0 {
				continue
			}
			retry, remains = time.Duration(l.rule.Gains(now, short)), l.rule.LeftToken(word, at+l.slack)
		}
		if !s.Still(word) {
			return nil, unanswered
		}
		if gates == nil || retry > wait {
			gates, wait, left = l, retry, remains
		}
	}
	if gates == nil {
		return nil, unanswered
	}
	if sure {
		e.publishLate(now)
	}
	reason := gates.reason()
	t.refuse(reason, gates.layer, wait)
	t.left = left
	gates.ctl.tally().refused[req.Class][reason].Add(1)
	return gates, refused
}
