package plant

import (
	"math"

	"github.com/weir-go/weir/ladder"
)

// Point is what a run looked like at one tick.
type Point struct {
	T      float64 `json:"t"`      // s
	Level  float64 `json:"level"`  // tiers
	Signal float64 `json:"signal"` // the reading that the ladder was given
}

// Result is what became of a run. Shares are in percent, times in seconds, all
// from the beginning of the incident to the end of the run.
type Result struct {
	Scenario string `json:"scenario"`
	Seed     uint64 `json:"seed"`

	Reversals       int     `json:"reversals"`     // of the level, over the whole run
	CriticalShed    int     `json:"critical_shed"` // attempts
	CriticalGoodput float64 `json:"critical_goodput_pct"`
	Goodput         float64 `json:"goodput_pct"` // requests answered within the SLO after their first attempt
	Sick            float64 `json:"sick_s"`      // seconds whose mean wait in the queue is above 250 ms
	Health          float64 `json:"health_s"`    // until the mean utilisation of 10 s is back at 0.85
	Peak            float64 `json:"peak_level"`
	OverShed        float64 `json:"over_shed_pct"` // requests shed at first beyond need, of all
	Reopened        bool    `json:"reopened"`      // the level was below 0.05 for the last fiftieth of the run
	Full            float64 `json:"full_s"`        // from the end of the incident until it was, for good; 0 unless reopened

	Trace []Point `json:"trace,omitempty"`
}

// second is what happened within one.
type second struct {
	offered, shed int // first attempts
	wait          float64
	waits         int
	busy          float64 // sum of shares
	samples       int
}

// figures gathers what a Result is made of.
type figures struct {
	s       *Scenario
	from    float64
	seconds []second

	requests, good [len(classes)]int
	criticalShed   int
	trace          []Point
}

func newFigures(s *Scenario) *figures {
	return &figures{
		s:       s,
		from:    s.IncidentS[0],
		seconds: make([]second, int(math.Ceil(s.DurationS))+1),
		trace:   make([]Point, 0, int(s.DurationS*1e3/s.TickMS)+1),
	}
}

func (f *figures) at(t float64) *second { return &f.seconds[min(int(t), len(f.seconds)-1)] }

func (f *figures) offered(t float64, a Attempt, shed bool) {
	if shed && a.Class == Critical {
		f.criticalShed++
	}
	if a.Tries > 0 {
		return
	}
	sec := f.at(t)
	sec.offered++
	if shed {
		sec.shed++
	}
	if t >= f.from {
		f.requests[a.Class]++
	}
}

// waited is told of every request that left the queue.
func (f *figures) waited(t, wait float64) {
	sec := f.at(t)
	sec.wait += wait
	sec.waits++
}

// answered is told when a service begins how long after its first attempt the
// request will be answered.
func (f *figures) answered(a Attempt, after float64) {
	if a.First >= f.from && after <= f.s.SLOMS/1e3 {
		f.good[a.Class]++
	}
}

func (f *figures) sampled(t float64, busy, slots int) {
	sec := f.at(t)
	sec.samples++
	if slots > 0 {
		sec.busy += min(1, float64(busy)/float64(slots))
	}
}

func (f *figures) ticked(t, level float64, r ladder.Reading) {
	f.trace = append(f.trace, Point{T: t, Level: level, Signal: r.Value})
}

func (f *figures) result(r Run) Result {
	res := Result{
		Scenario:     f.s.Name,
		Seed:         r.Seed,
		CriticalShed: f.criticalShed,
		Trace:        f.trace,
		Sick:         f.sick(),
		Health:       f.health(),
		OverShed:     f.overShed(),
	}
	requests, good := 0, 0
	for c := range classes {
		requests += f.requests[c]
		good += f.good[c]
	}
	res.Goodput = percent(good, requests)
	res.CriticalGoodput = percent(f.good[Critical], f.requests[Critical])

	res.ReadTrace(f.s)
	return res
}

// ReadTrace sets what follows from the trace alone.
func (r *Result) ReadTrace(s *Scenario) {
	levels := make([]float64, len(r.Trace))
	open := 0.0
	r.Peak = 0
	for i, p := range r.Trace {
		levels[i] = p.Level
		r.Peak = max(r.Peak, p.Level)
		if p.Level >= 0.05 {
			open = p.T + s.TickMS/1e3
		}
	}
	r.Reversals = reversals(levels)
	r.Reopened, r.Full = open <= s.DurationS*49/50, 0
	if r.Reopened {
		r.Full = max(0, open-s.IncidentS[1])
	}
}

func percent(part, of int) float64 {
	if of == 0 {
		return 100
	}
	return 100 * float64(part) / float64(of)
}

func (f *figures) sick() float64 {
	n := 0
	for _, sec := range f.seconds[int(f.from):] {
		if sec.waits > 0 && sec.wait/float64(sec.waits) > 0.25 {
			n++
		}
	}
	return float64(n)
}

// health is when the mean of the last 10 seconds is first back at 0.85 after it
// was above; 0 if it never was.
func (f *figures) health() float64 {
	const window = 10
	was := false
	for end := int(f.from) + 1; end <= int(f.s.DurationS); end++ {
		sum, n := 0.0, 0
		for _, sec := range f.seconds[max(0, end-window):end] {
			sum += sec.busy
			n += sec.samples
		}
		switch mean := sum / float64(max(n, 1)); {
		case mean > 0.85:
			was = true
		case was:
			return float64(end) - f.from
		}
	}
	if was {
		return f.s.DurationS - f.from
	}
	return 0
}

// overShed compares every second with a controller that knows load and capacity
// and sheds down to a utilisation of 0.80.
func (f *figures) overShed() float64 {
	over, all := 0.0, 0
	for i := int(f.from); i < int(f.s.DurationS); i++ {
		sec := f.seconds[i]
		need := max(0, float64(sec.offered)-0.8*f.s.capacity(float64(i)+0.5))
		over += max(0, float64(sec.shed)-need)
		all += sec.offered
	}
	if all == 0 {
		return 0
	}
	return 100 * over / float64(all)
}

// reversals counts the turning points of a level whose swing is more than 0.1 of
// a tier. One clean incident, up and down again, is 1.
func reversals(levels []float64) int {
	const swing = 0.1
	turns, dir := 0, 0
	var low, high float64 // since the last turn
	for i, l := range levels {
		if i == 0 {
			low, high = l, l
		}
		low, high = min(low, l), max(high, l)
		switch {
		case dir <= 0 && l-low > swing:
			if dir < 0 {
				turns++
			}
			dir, high = 1, l
		case dir >= 0 && high-l > swing:
			if dir > 0 {
				turns++
			}
			dir, low = -1, l
		}
	}
	return turns
}
