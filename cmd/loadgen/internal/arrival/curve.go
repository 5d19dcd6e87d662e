package arrival

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"time"
)

// Curve is a rate over time. It is pure: the same arguments give the same
// time.
type Curve interface {
	// At is when the number of requests that were due since the start reaches
	// n + frac, for n >= 0 and 0 <= frac < 1; false: never.
	At(n int64, frac float64) (time.Duration, bool)
}

func clamp(seconds float64) (time.Duration, bool) {
	if ns := seconds * 1e9; ns < math.MaxInt64 {
		return time.Duration(ns), true
	}
	return 0, false
}

// Constant is one rate for ever: the n-th request is due at n·Per/N, rounded
// down to the nanosecond once and not cumulatively.
type Constant Rate

// At implements Curve.
func (c Constant) At(n int64, frac float64) (time.Duration, bool) {
	hi, lo := bits.Mul64(uint64(n), uint64(c.Per))
	if hi >= uint64(c.N) {
		return 0, false
	}
	q, _ := bits.Div64(hi, lo, uint64(c.N))
	if f := frac * float64(c.Per) / float64(c.N); q < math.MaxInt64/2 {
		return time.Duration(q) + time.Duration(f), true
	}
	return 0, false
}

// Ramp goes from one rate to another in a straight line over Over, and stays
// there.
type Ramp struct {
	From, To float64 // requests per second, 0 or more; one of them above 0
	Over     time.Duration
}

// At implements Curve.
func (r Ramp) At(n int64, frac float64) (time.Duration, bool) {
	x, over := float64(n)+frac, r.Over.Seconds()
	whole := (r.From + r.To) / 2 * over
	if x > whole {
		if r.To <= 0 {
			return 0, false
		}
		return clamp(over + (x-whole)/r.To)
	}
	// x = From·t + k·t²/2, solved in the form that loses no digits when k is
	// near 0.
	k := (r.To - r.From) / over
	root := r.From + math.Sqrt(max(0, r.From*r.From+2*k*x))
	if root == 0 {
		return 0, true
	}
	return clamp(2 * x / root)
}

// Step is one piece of Steps.
type Step struct {
	Rate float64 // requests per second, 0 or more
	For  time.Duration
}

// Steps is a piecewise constant rate that ends with its last piece.
type Steps []Step

// At implements Curve.
func (s Steps) At(n int64, frac float64) (time.Duration, bool) {
	x, t := float64(n)+frac, 0.0
	for _, p := range s {
		if in := p.Rate * p.For.Seconds(); x >= in {
			x -= in
			t += p.For.Seconds()
			continue
		}
		return clamp(t + x/p.Rate)
	}
	return 0, false
}

// Sine swings around Mean by Amp; Amp is at most Mean.
type Sine struct {
	Mean, Amp float64 // requests per second
	Period    time.Duration
}

// count is how many requests are due until t seconds.
func (s Sine) count(t float64) float64 {
	w := 2 * math.Pi / s.Period.Seconds()
	return s.Mean*t + s.Amp/w*(1-math.Cos(w*t))
}

// At implements Curve. It halves an interval that holds the answer: count
// never falls, and its wave adds at most 2·Amp/w.
func (s Sine) At(n int64, frac float64) (time.Duration, bool) {
	x := float64(n) + frac
	lo := max(0, (x-s.Amp*s.Period.Seconds()/math.Pi)/s.Mean)
	hi := x / s.Mean
	for range 100 {
		mid := lo + (hi-lo)/2
		if mid <= lo || mid >= hi {
			break
		}
		if s.count(mid) < x {
			lo = mid
		} else {
			hi = mid
		}
	}
	return clamp(hi)
}

// Check says what is wrong with a curve's numbers.
func Check(c Curve) error {
	rate := func(name string, v float64) error {
		if !(v >= 0) || v > float64(maxRate) {
			return fmt.Errorf("arrival: %s %v: out of range", name, v)
		}
		return nil
	}
	switch c := c.(type) {
	case Constant:
		if c.N <= 0 || c.Per <= 0 {
			return fmt.Errorf("arrival: rate %d per %v: must be above 0", c.N, c.Per)
		}
	case Ramp:
		if c.Over <= 0 {
			return fmt.Errorf("arrival: ramp over %v: must be above 0", c.Over)
		}
		if c.From == 0 && c.To == 0 {
			return errors.New("arrival: ramp from 0 to 0 sends nothing")
		}
		return errors.Join(rate("ramp from", c.From), rate("ramp to", c.To))
	case Steps:
		var errs []error
		for i, p := range c {
			errs = append(errs, rate(fmt.Sprintf("step %d", i+1), p.Rate))
			if p.For <= 0 {
				errs = append(errs, fmt.Errorf("arrival: step %d for %v: must be above 0", i+1, p.For))
			}
		}
		if len(c) == 0 {
			errs = append(errs, errors.New("arrival: no step"))
		}
		return errors.Join(errs...)
	case Sine:
		if c.Period <= 0 || !(c.Mean > 0) || !(c.Amp >= 0) || c.Amp > c.Mean {
			return fmt.Errorf("arrival: sine %v +- %v every %v: the mean and the period must be above 0 and the swing at most the mean", c.Mean, c.Amp, c.Period)
		}
		return rate("sine", c.Mean)
	}
	return nil
}
