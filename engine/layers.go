package engine

import (
	"math/rand/v2"

	"github.com/weir-go/weir/ladder"
)

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
func (e *Engine) pass(t *draft, f *frame) bool {
	act := enforce
	if m := Mode(e.layerMode[Fleet].Load()); m != Enforce {
		if act = m.action(f.cohort(), uint64(Fleet)); act == skip {
			return true
		}
	}
	if e.enter(t, f.class == Critical) {
		return true
	}
	e.wanted(f.class == Critical)
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
