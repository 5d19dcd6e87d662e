package engine

import (
	"context"
	"fmt"
	"log/slog"
)

// What happens when weir itself fails: no fault of its own reaches the caller.

// fault notes a panic inside the engine.
func (e *Engine) fault(r any) {
	if e.misuse.faults.Add(1) == 1 {
		e.logLater(slog.LevelError, "a fault inside weir: its limit follows its fail policy", fmt.Sprint(r))
	}
}

// recovered makes the decision that panicked anew, leaving out one limit after
// the other for as long as that helps. Each left out gets its own fail policy;
// the others still count.
func (e *Engine) recovered(t *draft, f *frame, p *plan, r any) {
	f.silent = true
	for broken := uint(0); ; {
		e.fault(r)
		e.backOut(t, f)
		f.steps = f.steps[:0]
		clear(f.steps[:cap(f.steps)])
		if f.at < 0 || broken>>f.at&1 != 0 {
			e.strictest(t, f, p)
			return
		}
		broken |= 1 << f.at
		if r = e.attempt(func() { e.decide(t, f, p, broken) }); r == nil {
			return
		}
	}
}

// attempt runs f and returns what it panicked with.
func (e *Engine) attempt(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}

// backOut gives back what a decision has taken.
func (e *Engine) backOut(t *draft, f *frame) {
	for i := range f.steps {
		if s := &f.steps[i]; s.done {
			s.done = false
			e.quietly(func() { e.undo(f, s) })
		}
	}
	t.n, t.holds = 0, [few]hold{}
	e.leave(t)
}

// quietly runs what may panic and goes on.
func (e *Engine) quietly(f func()) {
	if r := e.attempt(f); r != nil {
		e.fault(r)
	}
}

// say logs. The logger is the caller's code: one that panics is a fault like
// any other.
func (e *Engine) say(level slog.Level, msg string, attrs ...slog.Attr) {
	e.quietly(func() { e.logger.LogAttrs(context.Background(), level, msg, attrs...) })
}

// strictest answers a request that cannot be decided, by the strictest fail
// policy among the limits it claims.
func (e *Engine) strictest(t *draft, f *frame, p *plan) {
	if d := e.failPolicy(f, p); !d.OK() {
		e.refuse(t, f.class, p, d)
		return
	}
	t.left, t.limit = -1, p.limits[0]
	t.open = true
	e.lane(t.lane()).admitted[f.class-Test].Add(1)
}

func (e *Engine) failPolicy(f *frame, p *plan) Decision {
	for i := range f.req.Claims {
		c := &f.req.Claims[i]
		if c.Limit == 0 || int(c.Limit) >= len(p.limits) {
			continue
		}
		l := p.limits[c.Limit]
		if l.live && l.fail == FailClosed && l.mode.action(c.Key.P, l.ctl.salt) == enforce {
			return Decision{Reason: Closed, Layer: l.layer, Limit: l.id, RetryAfter: l.retry}
		}
	}
	return Decision{}
}
