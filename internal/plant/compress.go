package plant

import (
	"maps"
	"math"

	"github.com/weir-go/weir/ladder"
)

// Compress returns an incident that takes a k-th of the time and the law for it:
// all times of the scenario and the law, the tick, the client's patience and
// back-off and the queue are divided by k and the law's rates multiplied; service
// times, request rates and the SLO stay. It is noisier than the original, since
// fewer requests make up a tick: k = 5 keeps the shape, 10 does not.
func Compress(s Scenario, law ladder.Config, k float64) (Scenario, ladder.Config) {
	s.DurationS /= k
	s.IncidentS[0] /= k
	s.IncidentS[1] /= k
	s.TickMS /= k
	s.QueueDeadlineMS /= k
	s.QueueCap = int(math.Ceil(float64(s.QueueCap) / k))
	s.Sensor.DelayMS /= k
	s.LoadAll = s.LoadAll.compress(k)
	s.ServiceMult = s.ServiceMult.compress(k)
	s.CapacityMult = s.CapacityMult.compress(k)
	s.Load = maps.Clone(s.Load)
	for c, curve := range s.Load {
		s.Load[c] = curve.compress(k)
	}
	if s.Retry != nil {
		r := *s.Retry
		r.BaseMS /= k
		r.CapMS /= k
		s.Retry = &r
	}
	if s.ColdRestore != nil {
		c := *s.ColdRestore
		c.TauS /= k
		s.ColdRestore = &c
	}

	return s, law.Faster(k)
}

func (c Curve) compress(k float64) Curve {
	points := make([][2]float64, len(c.Points))
	for i, p := range c.Points {
		points[i] = [2]float64{p[0] / k, p[1]}
	}
	out := Curve{Points: points}
	if c.Sine != nil {
		s := *c.Sine
		s.PeriodS /= k
		s.T0S /= k
		s.T1S /= k
		out.Sine = &s
	}
	return out
}
