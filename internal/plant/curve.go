package plant

import "math"

// Curve is a factor over time, 1 when empty: points joined by straight lines
// (two at one time are a step, constant outside), times a sine.
type Curve struct {
	Points [][2]float64 `json:"points,omitempty"`
	Sine   *Sine        `json:"sine,omitempty"`
}

// Sine is Mean + Amp*sin(2 pi (t-T0)/Period) within [T0, T1), 1 outside.
type Sine struct {
	Mean    float64 `json:"mean"`
	Amp     float64 `json:"amp"`
	PeriodS float64 `json:"period_s"`
	T0S     float64 `json:"t0_s"`
	T1S     float64 `json:"t1_s"`
}

// At is the factor at t.
func (c *Curve) At(t float64) float64 {
	v := 1.0
	if n := len(c.Points); n > 0 {
		v = c.Points[n-1][1]
		for i, p := range c.Points {
			if t >= p[0] {
				continue
			}
			v = p[1]
			if i > 0 {
				q := c.Points[i-1]
				v = q[1] + (p[1]-q[1])*(t-q[0])/(p[0]-q[0])
			}
			break
		}
	}
	if s := c.Sine; s != nil && t >= s.T0S && t < s.T1S {
		v *= s.Mean + s.Amp*math.Sin(2*math.Pi*(t-s.T0S)/s.PeriodS)
	}
	return v
}

// peak bounds the curve from above.
func (c *Curve) peak() float64 {
	v := 1.0
	if len(c.Points) > 0 {
		v = 0
		for _, p := range c.Points {
			v = max(v, p[1])
		}
	}
	if s := c.Sine; s != nil {
		v *= max(1, s.Mean+math.Abs(s.Amp))
	}
	return v
}

// least bounds the curve from below.
func (c *Curve) least() float64 {
	v := 1.0
	if len(c.Points) > 0 {
		v = math.Inf(1)
		for _, p := range c.Points {
			v = min(v, p[1])
		}
	}
	if s := c.Sine; s != nil {
		v *= min(1, s.Mean-math.Abs(s.Amp))
	}
	return v
}

// valid reports whether the curve is finite, in the order of time and nowhere
// below low.
func (c *Curve) valid(low float64) bool {
	for i, p := range c.Points {
		if i > 0 && !(p[0] >= c.Points[i-1][0]) {
			return false
		}
	}
	if s := c.Sine; s != nil && !(s.PeriodS > 0) {
		return false
	}
	return c.least() >= low && c.peak() < math.MaxFloat64
}
