package engine

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
		e.tally().unclassified.Add(1)
	}
	if p.closed {
		return Decision{}, undecidable
	}
	if len(req.Claims) > MaxClaims {
		e.misuse.tooMany.Add(1)
		return Decision{}, undecidable
	}
	for i := range req.Claims {
		f.at = i
		c := &req.Claims[i]
		if c.Limit == 0 || int(c.Limit) >= len(p.limits) {
			e.misuse.unknown.Add(1)
			return Decision{}, undecidable
		}
		for j := range i {
			if req.Claims[j].Limit == c.Limit {
				e.misuse.twice.Add(1)
				return Decision{}, undecidable
			}
		}
		l := &p.limits[c.Limit]
		if c.Cost == 0 || l.passes {
			continue
		}
		act := Mode(l.ctl.mode.Load()).action(c.Key.P, l.ctl.salt)
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
			e.misuse.negative.Add(1)
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
