package engine

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
		f.at = int(s.index)
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
func (e *Engine) grant(t *draft, f *frame, p *plan) {
	t.left, t.limit = 0, p.limits[0]
	for i := range f.steps {
		s := &f.steps[i]
		if !s.done {
			continue
		}
		if s.l.holds {
			e.keep(t, f, s)
		}
		if s.act == enforce {
			t.tighten(e.left(f, s), p.limits[s.l.id]) // not s.l: what a ticket is given of the frame escapes
		}
	}
	if t.limit.id == 0 {
		t.left = -1
	}
	if e.adaptive.Load() != nil {
		e.add(t, hold{kind: holdSince, word: uint64(e.time.Now())})
	}
	t.open = true
	e.counted(t, f.class)
}

// counted counts an admission, and now and then watches its ticket.
func (e *Engine) counted(t *draft, class Class) {
	n := e.lane(t.lane()).admitted[class-Test].Add(1)
	if t.n > 0 && n%sampleEvery == 0 && t.holds[0].limit != 0 {
		e.sample(t)
	}
}

// refuse fills the ticket of a refused request.
func (e *Engine) refuse(t *draft, class Class, p *plan, d Decision) {
	t.refuse(d.Reason, d.Layer, d.RetryAfter)
	t.limit, t.left = p.limits[d.Limit], d.Remaining
	switch {
	case d.Limit != 0:
		p.limits[d.Limit].ctl.tally().refused[class][d.Reason].Add(1)
	case d.Layer == Worker:
		e.tally().ladder[class].Add(1)
	case d.Layer == Fleet:
		e.tally().gate[class].Add(1)
	}
}
