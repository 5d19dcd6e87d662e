package engine

import "sync/atomic"

// How a request goes on once its claims are resolved.
type way uint8

const (
	proceed way = iota
	refusal
	undecidable // weir cannot answer: the limits' fail policies do
)

// resolve turns the claims, without those in broken, into steps.
func (e *Engine) resolve(f *frame, p *plan, broken uint) (Decision, way) {
	req := f.req
	f.at, f.class = -1, req.Class
	if f.class == ClassUnset || f.class > Critical {
		f.class = p.deflt
		f.count(&e.lane(here()).unclassified)
	}
	if p.closed {
		return Decision{}, undecidable
	}
	if len(req.Claims) > MaxClaims {
		f.count(&e.misuse.tooMany)
		return Decision{}, undecidable
	}
	for i := range req.Claims {
		f.at = i
		c := &req.Claims[i]
		if c.Limit == 0 || int(c.Limit) >= len(p.limits) {
			f.count(&e.misuse.unknown)
			return Decision{}, undecidable
		}
		for j := range i {
			if req.Claims[j].Limit == c.Limit {
				f.count(&e.misuse.twice)
				return Decision{}, undecidable
			}
		}
		l := p.limits[c.Limit]
		if c.Cost == 0 || l.passes {
			continue
		}
		act := l.mode.action(c.Key.P, l.ctl.salt)
		if act == skip {
			continue
		}
		if broken>>i&1 != 0 {
			if l.fail == FailClosed && act == enforce {
				return Decision{Reason: Closed, Layer: l.layer, Limit: l.id, RetryAfter: l.retry}, refusal
			}
			continue
		}
		if c.Cost < 0 {
			f.count(&e.misuse.negative)
		}
		f.steps = f.steps[:len(f.steps)+1]
		s := &f.steps[len(f.steps)-1]
		s.l, s.act, s.index = l, act, uint8(i)
		s.H, s.Cost, s.Rule, s.ID, s.BucketID = c.Key.H, c.Cost, &l.rule, l.table, l.bucket
		s.never = c.Cost > l.max || c.Cost < 0
		s.refused = s.never
	}
	return Decision{}, proceed
}

// count counts what is wrong with a request, once for each.
func (f *frame) count(c *atomic.Uint64) {
	if !f.silent {
		c.Add(1)
	}
}
