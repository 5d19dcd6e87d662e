package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// RefusedError is the error of Do and Wait for a request that was refused.
type RefusedError struct {
	Decision
	Name string // of the limit that refused; "" when a layer did
}

// Error names the layer, the limit and the reason.
func (r *RefusedError) Error() string {
	if r.Name == "" {
		return fmt.Sprintf("weir: refused by layer %v: %v", r.Layer, r.Reason)
	}
	return fmt.Sprintf("weir: refused by limit %q of layer %v: %v", r.Name, r.Layer, r.Reason)
}

func (e *Engine) refusedError(d Decision) error {
	return &RefusedError{Decision: d, Name: e.LimitName(d.Limit)}
}

// Do admits the request and runs work, or returns a *RefusedError without
// running it. It gives back whatever the request holds when work ends, returned
// or panicked. The outcome is Success for no error, Ignored when work's error
// is the context's cancellation, and Dropped for any other.
func (e *Engine) Do(ctx context.Context, req Request, work func(context.Context) error) error {
	t := e.Admit(req)
	if !t.OK() {
		return e.refusedError(t.Decision())
	}
	outcome := Dropped
	defer func() { t.Done(outcome) }()
	err := work(ctx)
	switch {
	case err == nil:
		outcome = Success
	case errors.Is(err, context.Canceled):
		outcome = Ignored
	}
	return err
}

const (
	// A place in flight comes free when somebody is done, which no clock foretells.
	firstPoll, lastPoll = time.Millisecond, 50 * time.Millisecond
)

// Wait admits the request as soon as it can pass. It fails at once, with a
// *RefusedError, when waiting does not help or would outlast the context's
// deadline, and with the context's error when that ends first. Whoever gives up
// leaves nothing behind: a waiter holds no place and no tokens, and waiters are
// not queued. A request that has to wait counts as refused once, and as admitted
// when it is. When err is nil, the caller owes the ticket one Done.
func (e *Engine) Wait(ctx context.Context, req Request) (t Ticket, err error) {
	if err := ctx.Err(); err != nil {
		return Ticket{}, err
	}
	if t = e.Admit(req); t.OK() {
		return
	}
	d := t.Decision()
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		pause := d.RetryAfter
		if pause < 0 {
			return Ticket{}, e.refusedError(d)
		}
		if d.Layer != Rate {
			pause = min(pause, poll)
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < pause {
			return Ticket{}, e.refusedError(d)
		}
		if err := e.time.sleep(ctx, pause); err != nil {
			return Ticket{}, err
		}
		if err := ctx.Err(); err != nil {
			return Ticket{}, err
		}
		// A look that finds nothing yet is no decision, and is not counted as one.
		if d = e.Peek(req); !d.OK() {
			continue
		}
		if t = e.Admit(req); t.OK() {
			return
		}
		d = t.Decision()
	}
}

// Peek returns what Admit would decide now, and changes nothing: no count, no
// charge, no place. Between Peek and Admit others may ask.
func (e *Engine) Peek(req Request) (d Decision) {
	for _, v := range e.Explain(req) {
		if v.Enforced && !v.OK() && (d.OK() || v.Layer <= Concurrency && later(v.Decision, d)) {
			d = v.Decision
		}
		if v.Enforced && v.OK() && v.Limit != 0 && d.OK() {
			d.tighten(v.Remaining, v.Limit)
		}
	}
	if d.OK() {
		d.Layer = LayerNone
		if d.Limit == 0 {
			d.Remaining = -1
		}
	}
	return d
}

// Verdict is what one limit or layer says of a request.
type Verdict struct {
	Decision
	Name     string // of the limit, or of the layer
	Enforced bool   // false: it only watches
}

// Explain returns what every limit and layer that the request meets says of it
// now, in the order of precedence, and changes nothing. It is for people: it
// allocates.
func (e *Engine) Explain(req Request) (vs []Verdict) {
	var room [MaxClaims]step
	var syncs [MaxClaims]syncStep
	f := &frame{req: &req, steps: room[:0], syncs: syncs[:], silent: true}
	p := e.plan.Load()
	e.quietly(func() {
		d, way := e.resolve(f, p, 0)
		if way != proceed {
			if way == undecidable {
				d = e.failPolicy(f, p)
			}
			vs = append(vs, Verdict{Decision: d, Name: e.LimitName(d.Limit), Enforced: true})
			return
		}
		now := e.time.Now()
		for i := range f.steps {
			s := &f.steps[i]
			e.look(f, s, now)
			v := Verdict{Name: s.l.ctl.name, Enforced: s.act == enforce}
			if s.refused {
				v.Decision = e.verdict(f, s, now)
			} else {
				v.Decision = Decision{Layer: s.l.layer, Limit: s.l.id, Remaining: e.left(f, s) - s.Cost}
			}
			vs = append(vs, v)
		}
		vs = append(vs, e.explainLayers(f, p)...)
	})
	return vs
}

func (e *Engine) explainLayers(f *frame, p *plan) (vs []Verdict) {
	layer := func(l Layer, m Mode, refuses bool, why Decision) {
		if m.action(f.cohort(), uint64(l)) == skip {
			return
		}
		v := Verdict{Decision: Decision{Layer: l}, Name: l.String(), Enforced: m.action(f.cohort(), uint64(l)) == enforce}
		if refuses {
			v.Decision = why
		}
		vs = append(vs, v)
	}
	layer(Worker, Mode(e.layerMode[Worker].Load()), e.sheds(f),
		Decision{Reason: Shed, Layer: Worker, RetryAfter: p.ladderRetry})
	if p.gated {
		layer(Fleet, Mode(e.layerMode[Fleet].Load()), !e.fits(f.class == Critical),
			Decision{Reason: Reserved, Layer: Fleet, RetryAfter: p.gateRetry})
	}
	return vs
}
