package engine

import (
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

// backOut gives back what an attempt has taken.
func (e *Engine) backOut(t *Ticket, steps []step) {
	for i := range steps {
		if s := &steps[i]; s.done {
			s.done = false
			e.quietly(func() { e.undo(s) })
		}
	}
	t.n = 0
	e.leave(t)
}

// quietly runs what may panic and goes on.
func (e *Engine) quietly(f func()) {
	defer func() {
		if r := recover(); r != nil {
			e.fault(r)
		}
	}()
	f()
}

// strictest answers a request that cannot be decided, by the strictest fail
// policy among the limits it claims.
func (e *Engine) strictest(t *Ticket, req *Request) {
	p := e.plan.Load()
	class := req.Class
	if class == ClassUnset || class > Critical {
		class = p.deflt
	}
	for i := range req.Claims {
		c := &req.Claims[i]
		if c.Limit == 0 || int(c.Limit) >= len(p.limits) {
			continue
		}
		l := &p.limits[c.Limit]
		if l.live && l.fail == FailClosed && Mode(l.ctl.mode.Load()).action(c.Key.P, l.ctl.salt) == enforce {
			e.refuse(t, class, Decision{Reason: Closed, Layer: l.layer, Limit: l.id, RetryAfter: l.retry})
			return
		}
	}
	t.e, t.open = e, true
	t.d = Decision{Remaining: -1}
	e.tally().admitted[class].Add(1)
}
