package fleet

import "math"

// minAge is the shortest memory, in us, that a rate is read from.
const minAge = 10e3

// view is what a reply says of one shared bucket. Times are in microseconds.
type view struct {
	level float64 // arrival less the store's time: how much is owed, below 0: idle since then
	s     float64 // attempts of all instances, remembered
	age   float64 // of that memory
}

// holder is the instance that reads it.
type holder struct {
	own   float64 // its attempts, remembered alike
	n     float64 // instances
	gain  float64 // part of an idle bucket that it may use at once
	unit  float64 // mean cost of a request
	keep  float64 // its share until lately, which it keeps to; 0: no such bound
	blind bool    // the store has lost its memory: it keeps that share whatever the memory says
	tau   float64 // us: the burst
	per   float64 // us per token
	next  float64 // us until the next exchange has come back
	decay float64 // us of the memory of attempts
}

// part is what the instance may do until the next exchange.
type part struct {
	share  float64 // of the key's traffic that is its own
	avail  float64 // tokens that the whole fleet may spend until then
	allow  float64 // tokens of them that this instance may spend
	scarce bool    // the fleet asks for more than there is
	left   float64 // tokens in the bucket now; below 0: debt
}

// fold divides what the bucket will have until the next exchange. A busy
// instance gets its share; one with few requests gets the fleet's acceptance
// ratio for each of them; and what the others will not need is not divided at
// all.
func (h holder) fold(v view) part {
	var p part
	p.share = min(1, (h.own+1/h.n)/(v.s+1))
	burst, rate := h.tau/h.per, 1/h.per
	p.left = min(burst, (h.tau-v.level)*rate)
	p.avail = p.left + rate*h.next
	// The memory began lately: it has seen only part of what a steady stream
	// would have left in it.
	fleet := v.s / (h.decay * -math.Expm1(-max(v.age, minAge)/h.decay))
	own := 0.0
	if v.s > 0 {
		own = min(1, h.own/v.s) * fleet
	}
	ratio := 1.0
	if need := fleet * h.next; need > p.avail {
		ratio = max(0, p.avail/need)
		p.scarce = true
	}
	p.allow = ratio * max(h.unit, own*h.next)
	if p.left > 0 {
		idle := min(1, max(0, 1-(fleet-own)*h.next/p.left))
		p.allow = max(p.allow, idle*max(h.gain*p.left, min(p.left, h.unit)))
	}
	p.allow = min(p.allow, p.avail)
	switch most := p.avail * h.keep; {
	case h.keep == 0:
	case h.blind:
		p.allow = most
	default:
		p.allow = min(p.allow, most)
	}
	return p
}

// verdict draws beforehand whether the next request is admitted, and how many,
// for an instance that may spend less than about two requests until the next
// exchange: the fraction is granted with its own probability.
func verdict(allow, unit, u float64) (requests float64) {
	return max(0, math.Floor(allow/unit+u))
}

// decayed is what is left of a memory after us microseconds.
func decayed(s, us, decay float64) float64 { return s * math.Exp(-max(0, us)/decay) }
