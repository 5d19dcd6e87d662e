package engine

import (
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
	if len(req.Claims) <= few {
		var room [few]step
		e.admit(&t, &req, room[:0])
	} else {
		var room [MaxClaims]step
		e.admit(&t, &req, room[:0])
	}
	return
}

// admit decides, leaving out one limit after the other for as long as something
// inside panics on it. Each gets its own fail policy; the others still count.
func (e *Engine) admit(t *Ticket, req *Request, room []step) {
	for broken := uint(0); ; {
		at, ok := e.try(t, req, room, broken)
		switch {
		case ok:
			return
		case at < 0 || broken>>at&1 != 0:
			e.strictest(t, req)
			return
		}
		broken |= 1 << at
	}
}

// try makes the decision without the claims in broken, by index. When something
// inside panics, ok is false, at is the index of the claim it happened on (-1:
// on none of them), and what was taken is given back.
func (e *Engine) try(t *Ticket, req *Request, steps []step, broken uint) (at int, ok bool) {
	defer func() {
		if r := recover(); r != nil {
			e.fault(r)
			e.backOut(t, steps)
		}
	}()
	p := e.plan.Load()
	at, t.e = -1, e
	class := req.Class
	if class == ClassUnset || class > Critical {
		class = p.deflt
		e.tally().unclassified.Add(1)
	}
	if p.closed || len(req.Claims) > MaxClaims {
		if !p.closed {
			e.misuse.tooMany.Add(1)
		}
		e.strictest(t, req)
		return at, true
	}

	// What is claimed.
	for i := range req.Claims {
		c := &req.Claims[i]
		if c.Limit == 0 || int(c.Limit) >= len(p.limits) {
			e.misuse.unknown.Add(1)
			e.strictest(t, req)
			return at, true
		}
		for j := range i {
			if req.Claims[j].Limit == c.Limit {
				e.misuse.twice.Add(1)
				e.strictest(t, req)
				return at, true
			}
		}
		l := &p.limits[c.Limit]
		if !l.live || c.Cost == 0 || l.kind == Unlimited {
			continue
		}
		act := enforce
		if m := Mode(l.ctl.mode.Load()); m != Enforce {
			if act = m.action(c.Key.P, l.ctl.salt); act == skip {
				continue
			}
		}
		if broken>>i&1 != 0 {
			if l.fail == FailClosed && act == enforce {
				e.refuse(t, class, Decision{Reason: Closed, Layer: l.layer, Limit: l.id, RetryAfter: l.retry})
				return at, true
			}
			continue
		}
		if c.Cost < 0 {
			e.misuse.negative.Add(1)
			e.refuse(t, class, Decision{Reason: NeverFits, Layer: l.layer, Limit: l.id, RetryAfter: -1})
			return at, true
		}
		steps = steps[:len(steps)+1]
		s := &steps[len(steps)-1]
		s.l, s.act, s.index, s.key = l, act, i, c.Key
		s.H, s.Cost, s.Rule, s.ID, s.BucketID = c.Key.H, c.Cost, &l.rule, l.table, l.bucket
		s.never = l.kind == Block || c.Cost > l.rule.Max()
		s.refused, s.done, s.noRoom, s.Overflowed = s.never, false, false, false
	}

	// Layers 1 and 2 look. The plan was loaded before the time, so that no rule
	// is younger than the time it is asked about.
	now := e.now()
	refused := false
	for i := range steps {
		s := &steps[i]
		at = s.index
		e.look(s, now)
		refused = refused || s.refused && s.act == enforce
	}
	if refused {
		if now, refused = e.lookAgain(steps, &at); refused {
			e.refuse(t, class, e.gating(steps, class, now))
			return at, true
		}
	}
	at = -1

	// Layer 4.
	if level := ladder.Word(e.level.Load()); level != 0 {
		if m := Mode(e.layerMode[Worker].Load()); m != Off && level.Sheds(int(class-Test), cohort(req)) {
			if m.action(cohort(req), uint64(Worker)) == enforce {
				e.refuse(t, class, Decision{Reason: Shed, Layer: Worker, RetryAfter: p.ladderRetry})
				e.watching(steps, class)
				return at, true
			}
			e.wouldShed(m, req, class)
		}
	}

	// Layer 3.
	if p.gated && !e.pass(t, p, req, class) {
		e.watching(steps, class)
		return at, true
	}

	// Layers 1 and 2 charge, in the order of the handles.
	for s := next(steps, enforce); s != nil; s = next(steps, enforce) {
		at = s.index
		if s.done = e.commit(s, now); !s.done {
			e.backOut(t, steps)
			e.refuse(t, class, e.verdict(s, e.time.Now()))
			return at, true
		}
	}
	for s := next(steps, watch); s != nil; s = next(steps, watch) {
		at = s.index
		if s.act = skip; !s.refused && e.commit(s, now) {
			s.done = true
		} else {
			e.wouldRefuse(s, class, now)
		}
	}
	e.grant(t, steps, class, now)
	return at, true
}

// lookAgain decides on the true time whether a refusal stands. One that does
// not makes its time the published one before anything is charged on it.
func (e *Engine) lookAgain(steps []step, at *int) (now int64, refused bool) {
	now = e.time.Now()
	for i := range steps {
		s := &steps[i]
		*at = s.index
		e.look(s, now)
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
func (e *Engine) gating(steps []step, class Class, now int64) Decision {
	var gate Decision
	for i := range steps {
		s := &steps[i]
		if !s.refused {
			continue
		}
		if s.act == watch {
			e.wouldRefuse(s, class, now)
			continue
		}
		d := e.verdict(s, now)
		if s.l.shared != nil {
			s.l.shared.Refused(s.key, s.shared, now, s.Cost)
		}
		if gate.Layer == LayerNone || later(d, gate) {
			gate = d
		}
	}
	return gate
}

func later(a, b Decision) bool {
	return b.RetryAfter >= 0 && (a.RetryAfter < 0 || a.RetryAfter > b.RetryAfter)
}

// grant fills the ticket of an admitted request.
func (e *Engine) grant(t *Ticket, steps []step, class Class, now int64) {
	t.d.Remaining = -1
	for i := range steps {
		s := &steps[i]
		if !s.done {
			continue
		}
		t.keep(s)
		if s.act == enforce {
			if left := e.left(s, now); t.d.Remaining < 0 || left < t.d.Remaining {
				t.d.Remaining, t.d.Limit = left, s.l.id
			}
		}
	}
	t.open = true
	e.tally().admitted[class].Add(1)
	if t.n > 0 {
		e.sample(t)
	}
}

// refuse fills the ticket of a refused request.
func (e *Engine) refuse(t *Ticket, class Class, d Decision) {
	t.d = d
	switch {
	case d.Limit != 0:
		e.plan.Load().limits[d.Limit].ctl.tally(e.stripeMask).refused[class][d.Reason].Add(1)
	case d.Layer == Worker:
		e.tally().ladder[class].Add(1)
	case d.Layer == Fleet:
		e.tally().gate[class].Add(1)
	}
}

// watching counts what shadow limits would have refused of a request that
// something else refuses.
func (e *Engine) watching(steps []step, class Class) {
	for i := range steps {
		if s := &steps[i]; s.act == watch && s.refused {
			e.wouldRefuse(s, class, e.time.published.Load())
		}
	}
}

// pass is layer 3: it takes a place in the gate or refuses.
func (e *Engine) pass(t *Ticket, p *plan, req *Request, class Class) bool {
	act := enforce
	if m := Mode(e.layerMode[Fleet].Load()); m != Enforce {
		if act = m.action(cohort(req), uint64(Fleet)); act == skip {
			return true
		}
	}
	if e.enter(class == Critical) {
		t.gate = gateOther
		if class == Critical {
			t.gate = gateCritical
		}
		return true
	}
	if act == watch {
		e.tally().gateWould[class].Add(1)
		return true
	}
	e.refuse(t, class, Decision{Reason: Reserved, Layer: Fleet, RetryAfter: p.gateRetry})
	return false
}

func (e *Engine) wouldShed(m Mode, req *Request, class Class) {
	if m.action(cohort(req), uint64(Worker)) == watch {
		e.tally().ladderWould[class].Add(1)
	}
}

// cohort is who the request is to the layers that have no key of their own.
// Someone without any identity takes their chance anew each time.
func cohort(req *Request) uint64 {
	switch {
	case req.Cohort != 0:
		return req.Cohort
	case len(req.Claims) > 0:
		return req.Claims[0].Key.P
	}
	return rand.Uint64()
}
