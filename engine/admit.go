package engine

import (
	"math"
	"math/rand/v2"

	"github.com/weir-go/weir/ladder"
)

// few is the number of claims up to which a decision uses a small frame.
const few = 2

// Admit decides whether the request may start now. It never waits, never
// panics and allocates nothing. When the ticket is OK, the caller owes it one
// Done.
//
// The order is that of the reasons' precedence: every claim is looked at,
// changing nothing; then the ladder, one load and one compare; then the gate
// takes a place for the class; then every claim is charged, in the order of the
// limits' handles. A charge that lost a race since the look is the request's
// refusal, and those before it are undone: a refused request charges nothing.
// Between a charge and its undo another request may be refused falsely, never
// admitted falsely.
//
// It is safe for concurrent use.
func (e *Engine) Admit(req Request) (t Ticket) {
	p := e.plan.Load()
	if e.express(&t, &req, p) {
		return
	}
	if len(req.Claims) > few || p.synced {
		e.admitWide(&t, &req, p)
		return
	}
	var room [few]step
	f := frame{req: &req, steps: room[:0]}
	e.admit(&t, &f, p)
	return
}

// admitWide is Admit with a frame for every request.
func (e *Engine) admitWide(t *Ticket, req *Request, p *plan) {
	var room [MaxClaims]step
	var syncs [MaxClaims]syncStep
	f := frame{req: req, steps: room[:0], syncs: syncs[:]}
	e.admit(t, &f, p)
}

// admit decides, whatever happens inside: when something panics, what was taken
// is given back and the decision made anew without the limit it panicked on.
func (e *Engine) admit(t *Ticket, f *frame, p *plan) {
	defer func() {
		if !t.decided {
			e.recovered(t, f, p, recover())
		}
	}()
	e.decide(t, f, p, 0)
	t.decided = true
}

// decide makes the decision, without the claims in broken, by index.
func (e *Engine) decide(t *Ticket, f *frame, p *plan, broken uint) {
	t.e = e
	switch d, way := e.resolve(f, p, broken); way {
	case refusal:
		e.refuse(t, f, p, d)
		return
	case undecidable:
		e.strictest(t, f, p)
		return
	}

	// Layers 1 and 2 look. The plan was loaded before the time, so that no rule
	// is younger than the time it is asked about.
	now := e.now()
	refused := false
	for i := range f.steps {
		s := &f.steps[i]
		f.at = int(s.index)
		e.look(f, s, now)
		if s.refused && s.act == enforce {
			refused = true
		}
	}
	if refused {
		if now, refused = e.lookAgain(f); refused {
			e.refuse(t, f, p, e.gating(f, now))
			return
		}
	}
	f.at = -1

	// Layer 4.
	if e.level.Load() != 0 && !e.stay(f) {
		e.refuse(t, f, p, Decision{Reason: Shed, Layer: Worker, RetryAfter: p.ladderRetry})
		e.watching(f)
		return
	}

	// Layer 3.
	if p.gated && !e.pass(t, f) {
		e.refuse(t, f, p, Decision{Reason: Reserved, Layer: Fleet, RetryAfter: p.gateRetry})
		e.watching(f)
		return
	}

	// Layers 1 and 2 charge, in the order of the handles.
	for s := next(f.steps, enforce); s != nil; s = next(f.steps, enforce) {
		f.at = int(s.index)
		if s.done = e.commit(f, s, now); !s.done {
			e.backOut(t, f)
			now = e.time.Now()
			e.refuse(t, f, p, e.verdict(f, s, now))
			e.told(f, s, now)
			return
		}
	}
	e.shadows(f, now)
	e.grant(t, f)
}

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

// lookAgain decides on the true time whether a refusal stands. One that does
// not makes its time the published one before anything is charged on it.
func (e *Engine) lookAgain(f *frame) (now int64, refused bool) {
	now = e.time.Now()
	for i := range f.steps {
		s := &f.steps[i]
		f.at = int(s.index)
		e.look(f, s, now)
		refused = refused || s.refused && s.act == enforce
	}
	// A storm of refusals must not write the word that every decision reads.
	if !refused || now-e.time.published.Load() > int64(tickEvery) {
		e.time.Publish(now)
	}
	return now, refused
}

// next returns the first claim in the order of the handles that is still to be
// charged.
func next(steps []step, act action) *step {
	var first *step
	for i := range steps {
		if s := &steps[i]; s.act == act && !s.done && (first == nil || s.l.id < first.l.id) {
			first = s
		}
	}
	return first
}

// gating is the decision of the enforced claims that refuse: the one that waits
// longest gates.
func (e *Engine) gating(f *frame, now int64) Decision {
	var gate Decision
	for i := range f.steps {
		s := &f.steps[i]
		if !s.refused {
			continue
		}
		if s.act == watch {
			e.wouldRefuse(f, s, now)
			continue
		}
		d := e.verdict(f, s, now)
		e.told(f, s, now)
		if gate.Layer == LayerNone || later(d, gate) {
			gate = d
		}
	}
	return gate
}

func later(a, b Decision) bool {
	return b.RetryAfter >= 0 && (a.RetryAfter < 0 || a.RetryAfter > b.RetryAfter)
}

// told lets a synced limit know of a refusal: refused demand is demand.
func (e *Engine) told(f *frame, s *step, now int64) {
	if s.l.shared != nil && !s.never {
		s.l.shared.Refused(f.claim(s).Key, f.sync(s).SharedStep, now, s.Cost)
	}
}

// shadows charges the limits that only watch, each for itself: one that would
// have refused is counted and holds nothing.
func (e *Engine) shadows(f *frame, now int64) {
	for s := next(f.steps, watch); s != nil; s = next(f.steps, watch) {
		f.at = int(s.index)
		s.act = skip
		switch {
		case s.never:
		case s.refused && s.l.shared == nil:
			s.done = e.take(s, now) // decides again, on the true time
		default:
			s.done = e.commit(f, s, now)
		}
		if s.refused = !s.done; s.refused {
			e.wouldRefuse(f, s, e.time.Now())
		}
	}
}

// watching counts what shadow limits would have refused of a request that a
// later layer refuses.
func (e *Engine) watching(f *frame) {
	for i := range f.steps {
		if s := &f.steps[i]; s.act == watch && s.refused {
			e.wouldRefuse(f, s, e.time.Now())
		}
	}
}

// grant fills the ticket of an admitted request.
func (e *Engine) grant(t *Ticket, f *frame) {
	t.d.Remaining = math.MaxInt64
	for i := range f.steps {
		s := &f.steps[i]
		if !s.done {
			continue
		}
		if s.l.holds {
			t.keep(f, s)
		}
		if s.act == enforce {
			if left := e.left(f, s); left < t.d.Remaining {
				t.d.Remaining, t.d.Limit = left, s.l.id
			}
		}
	}
	if t.d.Limit == 0 {
		t.d.Remaining = -1
	}
	t.open = true
	if e.adaptive.Load() != nil {
		t.since = e.time.Now()
	}
	e.counted(t, f.class)
}

// counted counts an admission, and now and then watches its ticket.
func (e *Engine) counted(t *Ticket, class Class) {
	n := e.tally().admitted[class].Add(1)
	if t.n > 0 && n%sampleEvery == 0 {
		e.sample(t)
	}
}

// refuse fills the ticket of a refused request.
func (e *Engine) refuse(t *Ticket, f *frame, p *plan, d Decision) {
	t.d = d
	switch {
	case d.Limit != 0:
		p.limits[d.Limit].ctl.tally(e.stripeMask).refused[f.class][d.Reason].Add(1)
	case d.Layer == Worker:
		e.tally().ladder[f.class].Add(1)
	case d.Layer == Fleet:
		e.tally().gate[f.class].Add(1)
	}
}

// stay is layer 4: it reports whether the level leaves the request alone.
func (e *Engine) stay(f *frame) bool {
	m := Mode(e.layerMode[Worker].Load())
	if m == Off || !e.sheds(f) {
		return true
	}
	switch m.action(f.cohort(), uint64(Worker)) {
	case enforce:
		return false
	case watch:
		e.tally().ladderWould[f.class].Add(1)
	}
	return true
}

// sheds reports whether the level sheds the request, whatever the layer's mode.
func (e *Engine) sheds(f *frame) bool {
	level := ladder.Word(e.level.Load())
	return level != 0 && level.Sheds(int(f.class-Test), f.cohort())
}

// pass is layer 3: it takes a place in the gate, or reports that there is none.
func (e *Engine) pass(t *Ticket, f *frame) bool {
	act := enforce
	if m := Mode(e.layerMode[Fleet].Load()); m != Enforce {
		if act = m.action(f.cohort(), uint64(Fleet)); act == skip {
			return true
		}
	}
	if e.enter(f.class == Critical) {
		t.gate = gateOther
		if f.class == Critical {
			t.gate = gateCritical
		}
		return true
	}
	if act == watch {
		e.tally().gateWould[f.class].Add(1)
		return true
	}
	return false
}

// cohort is who the request is to the layers that have no key of their own.
// Someone without any identity takes their chance anew, once a request.
func (f *frame) cohort() uint64 {
	switch {
	case f.req.Cohort != 0:
	case len(f.req.Claims) > 0:
		return f.req.Claims[0].Key.P
	default:
		f.req.Cohort = rand.Uint64() | 1
	}
	return f.req.Cohort
}
