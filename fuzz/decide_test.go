package fuzz

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/engine"
)

// ticket is what the model thinks an admitted request holds.
type ticket struct {
	open  bool
	gate  int // 0: nothing, 1: an ordinary place, 2: a critical one
	holds []modelHold
}

type modelHold struct {
	l       *modelLimit
	k       *modelKey
	cost    int64
	settled bool
}

// claim is one claim of a request, resolved.
type claim struct {
	l    *modelLimit // nil: an unknown handle
	k    int
	cost int64
}

// fails is a disagreement between the engine and the model.
type fails struct{ what string }

func (f *fails) check(ok bool, format string, args ...any) {
	if !ok && f.what == "" {
		f.what = fmt.Sprintf(format, args...)
	}
}

// admit compares the engine's decision on a request with the model's and
// returns what the request holds. Where the promise leaves room (a sliding
// window), it goes with the engine.
func (m *model) admit(class engine.Class, claims []claim, d engine.Decision) (tk ticket, f fails) {
	if m.misused(claims) {
		closed := false
		for _, c := range claims {
			closed = closed || c.l != nil && c.l.live && c.l.mode == engine.Enforce && c.l.cfg.Fail == engine.FailClosed
		}
		if closed {
			f.check(d.Reason == engine.Closed, "misuse: %+v instead of closed", d)
			return tk, f
		}
		f.check(d.OK() && d.Remaining == -1, "misuse: %+v instead of admitted", d)
		tk.open = true
		return tk, f
	}

	at := m.pub
	if refusing, _ := m.refusing(claims, at); len(refusing) > 0 {
		// A refusal is never decided on a published time.
		at = m.now
		refusing, maybe := m.refusing(claims, at)
		if len(refusing) > 0 {
			f.checkRefusal(m, refusing, maybe, d)
			m.watching(claims)
			if m.now-m.pub > int64(time.Millisecond) {
				m.pub = m.now
			}
			return tk, f
		}
		m.pub = m.now
	}
	if _, maybe := m.refusing(claims, at); maybe != nil && !d.OK() && d.Limit == maybe.id {
		f.check(d.Reason == engine.Limited && d.RetryAfter > 0, "sliding: %+v", d)
		m.watching(claims)
		m.pub = max(m.pub, at)
		return tk, f
	}

	if m.gated {
		full := m.critical+m.other >= m.hardCap || class != engine.Critical && m.other >= m.alloc
		if full {
			f.check(d.Reason == engine.Reserved && d.Layer == engine.Fleet, "gate is full: %+v", d)
			m.watching(claims)
			return tk, f
		}
	}
	f.check(d.OK(), "refused with %+v, wanted admitted", d)
	if !d.OK() {
		return tk, f
	}
	if m.gated {
		if tk.gate = 1; class == engine.Critical {
			tk.gate = 2
			m.critical++
		} else {
			m.other++
		}
	}
	tk.open = true
	m.watching(claims)
	tightest, exact := int64(-1), true
	for _, c := range claims {
		if !c.counts() {
			continue
		}
		k := c.l.key(c.k)
		when := at
		if c.l.mode == engine.Shadow {
			if c.never() {
				continue
			}
			if m.judge(c.l, k, at, c.cost) == refuse {
				if when = m.now; m.judge(c.l, k, when, c.cost) == refuse {
					continue // it would have refused: it holds nothing
				}
			}
		}
		m.take(c.l, k, when, c.cost)
		if c.l.cfg.Kind == engine.InFlight || c.l.cfg.PostPaid {
			tk.holds = append(tk.holds, modelHold{l: c.l, k: k, cost: c.cost})
		}
		if c.l.mode == engine.Enforce {
			left := m.left(c.l, k, when)
			exact = exact && left >= 0
			if tightest < 0 || left < tightest {
				tightest = left
			}
		}
	}
	if exact && m.pub == m.now {
		f.check(d.Remaining == tightest, "remaining %d, wanted %d", d.Remaining, tightest)
	}
	return tk, f
}

// watching counts what the limits that only watch would have refused.
func (m *model) watching(claims []claim) {
	for _, c := range claims {
		if !c.counts() || c.l.mode != engine.Shadow {
			continue
		}
		switch {
		case c.never():
			c.l.would++
		case m.judge(c.l, c.l.key(c.k), m.now, c.cost) == refuse:
			c.l.would++
		}
		c.l.vague = c.l.vague || c.l.cfg.Kind == engine.Sliding
	}
}

// counts reports whether the claim is one that the limit looks at.
func (c *claim) counts() bool {
	return c.l.live && c.cost != 0 && c.l.mode != engine.Off && c.l.cfg.Kind != engine.Unlimited
}

func (c *claim) never() bool {
	switch c.l.cfg.Kind {
	case engine.Block:
		return true
	case engine.TokenBucket:
		return c.cost > c.l.cfg.Burst
	case engine.InFlight:
		return c.cost > c.l.cfg.Max
	}
	return c.cost > c.l.cfg.Rate
}

// misused reports whether the request breaks the contract in a way that leaves
// it undecided.
func (m *model) misused(claims []claim) bool {
	if len(claims) > engine.MaxClaims {
		return true
	}
	seen := map[*modelLimit]bool{}
	for _, c := range claims {
		if c.l == nil || seen[c.l] {
			return true
		}
		seen[c.l] = true
	}
	return false
}

// refusing returns the enforced claims that refuse at t, and the limit that may
// refuse or not.
func (m *model) refusing(claims []claim, t int64) (out []claim, maybe *modelLimit) {
	for _, c := range claims {
		if !c.counts() || c.l.mode != engine.Enforce {
			continue
		}
		switch {
		case c.never():
			out = append(out, c)
		default:
			switch m.judge(c.l, c.l.key(c.k), t, c.cost) {
			case refuse:
				out = append(out, c)
			case either:
				maybe = c.l
			}
		}
	}
	return out, maybe
}

// checkRefusal holds a refusal against the claims that refuse: the one that
// waits longest gates.
func (f *fails) checkRefusal(m *model, refusing []claim, maybe *modelLimit, d engine.Decision) {
	f.check(!d.OK(), "admitted, wanted a refusal by %s", refusing[0].l.cfg.Name)
	if d.OK() || maybe != nil && d.Limit == maybe.id {
		return
	}
	longest, known := time.Duration(0), true
	var gate *claim
	for i, c := range refusing {
		wait := time.Duration(-1)
		if !c.never() {
			wait = m.wait(c.l, c.l.key(c.k), c.cost)
			known = known && wait > 0
		}
		if longest >= 0 && (wait < 0 || wait > longest) {
			longest = wait
		}
		if c.l.id == d.Limit {
			gate = &refusing[i]
		}
	}
	f.check(gate != nil, "%+v: that limit does not refuse", d)
	if gate == nil {
		return
	}
	if known && maybe == nil {
		f.check(d.RetryAfter == longest, "retry after %v, wanted %v", d.RetryAfter, longest)
	}
	want := engine.Limited
	switch {
	case gate.l.cfg.Kind == engine.InFlight:
		want = engine.Full
	}
	if gate.never() && gate.l.cfg.Kind != engine.Block {
		want = engine.NeverFits
	}
	f.check(d.Reason == want, "reason %v, wanted %v", d.Reason, want)
	layer := engine.Rate
	if gate.l.cfg.Kind == engine.InFlight {
		layer = engine.Concurrency
	}
	f.check(d.Layer == layer, "layer %v, wanted %v", d.Layer, layer)
	if left := m.left(gate.l, gate.l.key(gate.k), m.now); left >= 0 && !gate.never() {
		f.check(d.Remaining == left, "refused with remaining %d, wanted %d", d.Remaining, left)
	}
}

// settle names the real cost of the ticket's claim on the limit, if it has one
// that is not settled.
func (m *model) settle(tk *ticket, l *modelLimit, actual int64) {
	for i := range tk.holds {
		if h := &tk.holds[i]; h.l == l && !h.settled && l.cfg.PostPaid && tk.open && actual >= 0 {
			m.finish(h, actual)
			return
		}
	}
}

func (m *model) finish(h *modelHold, actual int64) {
	h.settled = true
	h.k.held -= h.cost
	if actual > 0 && h.l.live {
		h.l.charge(h.k, m.now, actual)
	}
}

// done gives everything back.
func (m *model) done(tk *ticket) {
	if !tk.open {
		return
	}
	tk.open = false
	for i := range tk.holds {
		switch h := &tk.holds[i]; {
		case h.l.cfg.Kind == engine.InFlight:
			h.k.inside -= h.cost
		case !h.settled:
			m.finish(h, h.cost)
		}
	}
	switch tk.gate {
	case 1:
		m.other--
	case 2:
		m.critical--
	}
}
