package arrival

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Plan gives due times in order, as time since the start. It is for one
// goroutine.
type Plan interface {
	// Next is when the next request is due; false: there is none.
	Next() (time.Duration, bool)
}

type even struct {
	curve Curve
	n     int64
	until time.Duration
}

// Even plans requests as evenly as the curve allows: the first at 0, those due
// before until.
func Even(c Curve, until time.Duration) Plan { return &even{curve: c, until: until} }

func (p *even) Next() (time.Duration, bool) {
	d, ok := p.curve.At(p.n, 0)
	if !ok || d >= p.until {
		return 0, false
	}
	p.n++
	return d, true
}

type poisson struct {
	curve Curve
	rng   *rand.Rand
	n     int64
	frac  float64
	until time.Duration
}

// Poisson plans independent arrivals whose expected number follows the curve,
// those due before until. The same seed gives the same plan.
func Poisson(c Curve, seed uint64, until time.Duration) Plan {
	return &poisson{curve: c, rng: rand.New(rand.NewPCG(seed, 0x706f6973736f6e)), until: until}
}

func (p *poisson) Next() (time.Duration, bool) {
	// The unit-rate process: its gaps have mean 1, and the curve maps its counts
	// to times. Whole and fraction are kept apart, so that a long run keeps its
	// precision.
	whole, frac := math.Modf(p.frac + p.rng.ExpFloat64())
	p.n += int64(whole)
	p.frac = frac
	d, ok := p.curve.At(p.n, p.frac)
	if !ok || d >= p.until {
		return 0, false
	}
	return d, true
}

type replay struct {
	times []time.Duration
	speed float64
	until time.Duration
}

// Replay plans the given times, sorted and moved so that the first is 0,
// played speed times as fast (above 0), those due before until.
func Replay(times []time.Duration, speed float64, until time.Duration) Plan {
	sorted := slices.Clone(times)
	slices.Sort(sorted)
	for i := len(sorted) - 1; i >= 0; i-- {
		sorted[i] -= sorted[0]
	}
	return &replay{times: sorted, speed: speed, until: until}
}

func (p *replay) Next() (time.Duration, bool) {
	if len(p.times) == 0 {
		return 0, false
	}
	d, ok := clamp(p.times[0].Seconds() / p.speed)
	if p.speed == 1 {
		d, ok = p.times[0], true
	}
	if !ok || d >= p.until {
		return 0, false
	}
	p.times = p.times[1:]
	return d, true
}
