package engine

import (
	"math/bits"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/key"
	"github.com/weir-go/weir/shard"
)

// expressShared is the express way of a request with one claim on a bucket that a
// fleet shares, where the engine may charge its entries itself: alone, or beside
// requests in flight that the engine counts. While the ladder is at rest nothing can
// come between that would be refused sooner, but for the gate. It calls nothing of
// the fleet's, so there is nothing to recover from.
func (e *Engine) expressShared(t *draft, req *Request, p *plan) (told *limit, how answer) {
	if e.level.Load() != 0 || len(req.Claims) == 0 {
		return nil, unanswered
	}
	c, o := &req.Claims[0], (*Claim)(nil)
	l, ol := p.entered(c), (*limit)(nil)
	if len(req.Claims) > 1 {
		if o = &req.Claims[1]; l == nil {
			c, o = o, c
			l = p.entered(c)
		}
		if ol = p.ordinary(o); ol == nil || ol.kind != InFlight {
			return nil, unanswered
		}
	}
	if l == nil {
		return nil, unanswered
	}
	// The gate first, by exception: most requests pass, and then less has to be kept
	// in mind meanwhile.
	if p.gated && (req.Class == Critical || !e.enterAtOnce(t)) {
		if !e.enter(t, req.Class == Critical) {
			return nil, unanswered
		}
	}
	if told = e.chargeShared(t, c, l, o, ol); told == nil {
		e.leave(t)
		return nil, unanswered
	}
	return told, admitted
}

// chargeShared charges the claim c on the shared bucket l, and o on ol, if that is not
// nil. It returns the limit with the least left, or nil if it has charged nothing.
func (e *Engine) chargeShared(t *draft, c *Claim, l *limit, o *Claim, ol *limit) (told *limit) {
	x := l.wide.Home(c.Key.H ^ l.wideSalt)
	w, ok := x.Look(c.Key, l.wideID)
	if !ok {
		if x, w, ok = l.wide.Seek(c.Key, l.wideID); !ok {
			return nil
		}
	}
	inc := x.Inc.Load()
	next, room := l.spend.SpendUnits(w, l.at.Load(), inc)
	if room < 0 {
		return nil
	}
	var s *shard.Slot
	var other uint64
	if ol != nil {
		tag := shard.TagOf(o.Key.H, ol.table)
		s = e.table.Home(o.Key.H).Pick(tag)
		old, ok := s.Read(tag)
		if !ok {
			if s, old, ok = e.table.Seek(o.Key.H, tag); !ok {
				return nil
			}
		}
		if other, ok = ol.rule.TakeFlight(old, o.Cost); !ok || !s.Change(old, other) {
			return nil
		}
	}
	// Last, since its undo, unlike that of a place, may give back less than was taken.
	if !x.Word.CompareAndSwap(w, next) {
		if ol != nil {
			e.table.Release(e.table.Index(s), bucket.Life(other), o.Cost)
		}
		return nil
	}
	x.Spent(w, 1)
	if x.Link.Load() == 0 {
		e.asked(l, x)
	}
	if ol != nil {
		left := ol.max - bucket.InUse(other)
		t.left = left
		t.keepFlight(0, ol, e.table.Index(s), other, o.Cost)
		// Multiplied, since a division takes longer: is there as much of the share?
		more := uint64(left)
		if l.id < ol.id {
			more++
		}
		if hi, units := bits.Mul64(more, inc); hi == 0 && units <= uint64(room)>>8 {
			return ol
		}
	}
	t.left = int64(uint64(room) >> 8 / inc)
	return l
}

// asked tells the fleet that an entry has something to tell: once per exchange.
func (e *Engine) asked(l *limit, x *shard.Entry) {
	x.Cost.Store(1)
	e.quietly(func() { l.shared.(Entered).Asked(l.wide.Index(x), e.time.published.Load()) })
}

// entered returns the limit of a claim on one token of a bucket that is enforced for
// every key and whose entries the engine may charge itself, or nil.
func (p *plan) entered(c *Claim) *limit {
	if int(c.Limit) >= len(p.limits) || c.Cost != 1 {
		return nil
	}
	if l := p.limits[c.Limit]; l.wide != nil && l.mode == Enforce {
		return l
	}
	return nil
}

// entries is where the keys of the first limit are that is charged by its entries: of
// several, a hint for one has to do.
func (p *plan) entries() key.Lines {
	for _, l := range p.limits {
		if l.wide != nil {
			return l.wide.Homes(l.wideID)
		}
	}
	return key.Lines{}
}
