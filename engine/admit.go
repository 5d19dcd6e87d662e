package engine

import (
	"unsafe"

	"github.com/weir-go/weir/shard"
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
func (e *Engine) Admit(req Request) Ticket {
	p := e.plan.Load()
	// The commonest request: one claim on a bucket beside which only the ladder can
	// refuse, and that is at rest. It is decided here, if the key is known and the cost
	// fits; see express.go.
	class := req.Class - Test
	if claims, level := req.Claims, e.level.Load(); len(claims) == 1 && level == 0 && class < classes {
		c := &claims[0]
		if int(c.Limit) < len(p.limits) {
			if l := p.limits[c.Limit]; uint64(c.Cost)-1 < l.lone {
				tag := shard.TagOf(c.Key.H, l.table)
				s := e.table.Home(c.Key.H).Pick(tag)
				if old, ok := s.Read(tag); ok {
					next, room := l.spend.Spend(old, l.at.Load(), uint64(c.Cost))
					if room >= 0 && s.Change(old, next) {
						e.lane(laneOf(unsafe.Pointer(&req))).admitted[class].Add(1)
						return Ticket{limit: l, left: room, state: state{flags: ticketLone}}
					}
				}
			}
		}
	}
	t := draft{limit: p.limits[0], door: laneOf(unsafe.Pointer(&req)) << gateBits}
	if p.express && class < classes && len(req.Claims) <= few {
		var told *limit
		how, shared := unanswered, false
		if p.synced {
			if told, how = e.expressShared(&t, &req, p); how == unanswered {
				if shared = p.shared(&req); shared {
					how = e.expressSynced(&t, &req, p)
					told = t.limit
				}
			}
		}
		switch {
		case how != unanswered || shared:
		case len(req.Claims) == 1:
			told, how = e.expressOne(&t, &req, p)
		case len(req.Claims) == 0:
			told, how = e.expressNone(&t, &req, p)
		default:
			told, how = e.expressTwo(&t, &req, p)
		}
		switch how {
		case admitted:
			t.limit, t.open = told, true
			// As counted does, in line.
			if n := e.lane(t.lane()).admitted[class].Add(1); t.n > 0 && n%sampleEvery == 0 {
				e.sample(&t)
			}
			return e.ticket(&t)
		case refused:
			t.limit = told
			return e.ticket(&t)
		}
	}
	if len(req.Claims) > few || p.synced {
		e.admitWide(&t, &req, p)
	} else {
		e.admitFew(&t, &req, p)
	}
	return e.ticket(&t)
}

// admitFew is Admit with a small frame.
//
//go:noinline
func (e *Engine) admitFew(t *draft, req *Request, p *plan) {
	var room [few]step
	f := frame{req: req, steps: room[:0]}
	e.admit(t, &f, p)
}

// admitWide is Admit with a frame for every request.
//
//go:noinline
func (e *Engine) admitWide(t *draft, req *Request, p *plan) {
	var room [MaxClaims]step
	var syncs [MaxClaims]syncStep
	f := frame{req: req, steps: room[:0], syncs: syncs[:]}
	e.admit(t, &f, p)
}

// admit decides, whatever happens inside: when something panics, what was taken
// is given back and the decision made anew without the limit it panicked on.
func (e *Engine) admit(t *draft, f *frame, p *plan) {
	defer func() {
		if !f.decided {
			e.recovered(t, f, p, recover())
		}
	}()
	e.decide(t, f, p, 0)
	f.decided = true
}

// decide makes the decision, without the claims in broken, by index.
func (e *Engine) decide(t *draft, f *frame, p *plan, broken uint) {
	switch d, way := e.resolve(f, p, broken); way {
	case refusal:
		e.refuse(t, f.class, p, d)
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
			e.refuse(t, f.class, p, e.gating(f, now))
			return
		}
	}
	f.at = -1

	// Layer 4.
	if e.level.Load() != 0 && !e.stay(f) {
		e.watching(f)
		e.refuse(t, f.class, p, Decision{Reason: Shed, Layer: Worker, RetryAfter: p.ladderRetry})
		return
	}

	// Layer 3.
	if p.gated && !e.pass(t, f) {
		e.watching(f)
		e.refuse(t, f.class, p, Decision{Reason: Reserved, Layer: Fleet, RetryAfter: p.gateRetry})
		return
	}

	// Layers 1 and 2 charge, in the order of the handles.
	for s := next(f.steps, enforce); s != nil; s = next(f.steps, enforce) {
		f.at = int(s.index)
		if s.done = e.commit(f, s, now); !s.done {
			e.backOut(t, f)
			now = e.time.Now()
			d := e.verdict(f, s, now)
			e.told(f, s, now)
			e.refuse(t, f.class, p, d)
			return
		}
	}
	e.shadows(f, now)
	e.grant(t, f, p)
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
	if refused {
		e.publishLate(now)
		return now, true
	}
	e.time.Publish(now)
	for i := range f.steps {
		f.steps[i].l.publish(now)
	}
	return now, false
}

// publishLate publishes the time of a refusal if the published one is late: a
// storm of refusals must not write the word that every decision reads.
func (e *Engine) publishLate(now int64) {
	if now-e.time.published.Load() > int64(tickEvery) {
		e.time.Publish(now)
	}
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
