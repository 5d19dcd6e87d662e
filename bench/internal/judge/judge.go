// Package judge says whether two sets of samples of one benchmark differ enough
// to count.
package judge

import (
	"golang.org/x/perf/benchmath"
)

// Outcome is what a comparison of one figure of one benchmark says.
type Outcome string

// The outcomes. Slower, More and Gone fail the gate.
const (
	Same   Outcome = "same"   // no difference that counts
	Faster Outcome = "faster" // time fell by more than the threshold
	Slower Outcome = "SLOWER" // time rose by more than the threshold
	Less   Outcome = "less"   // allocations or bytes fell
	More   Outcome = "MORE"   // allocations or bytes rose
	Noisy  Outcome = "noisy"  // the samples scatter too much to tell
	New    Outcome = "new"    // only in the working tree
	Gone   Outcome = "GONE"   // only in the base
)

// Fails reports whether the gate must not let it pass.
func (o Outcome) Fails() bool { return o == Slower || o == More || o == Gone }

// Verdict is the comparison of one figure of one benchmark.
type Verdict struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Base    float64 `json:"base"` // median
	Head    float64 `json:"head"` // median
	Delta   float64 `json:"delta"`
	P       float64 `json:"p"`
	N       int     `json:"n"`       // samples a side
	Scatter float64 `json:"scatter"` // half-width of the wider median's 95 % interval, as a share
	Outcome Outcome `json:"outcome"`
	Again   bool    `json:"again"` // from the second measurement
}

// Rule is when a difference counts.
type Rule struct {
	Alpha     float64 // level of the Mann-Whitney test
	Threshold float64 // rise of the median time that fails, as a share
}

// Judge compares the samples of one figure, in a unit of benchfmt's, and sorts
// them. It reports false for a unit that is not judged: only time, bytes and
// allocations are.
func (r Rule) Judge(name, unit string, base, head []float64) (Verdict, bool) {
	v := Verdict{Name: name, Unit: unit, N: min(len(base), len(head)), Outcome: Same}
	switch {
	case IsTime(unit):
		r.time(&v, base, head)
	case unit == "B/op", unit == "allocs/op", unit == "B/state":
		r.amount(&v, base, head)
	default: // other figures that a benchmark reports are for its reader
		return v, false
	}
	return v, true
}

// IsTime reports whether the unit is one of the times of an operation: on the
// wall, or of the processor.
func IsTime(unit string) bool { return unit == "sec/op" || unit == "cpu-sec/op" }

func (r Rule) time(v *Verdict, base, head []float64) {
	r.compare(v, base, head)
	switch {
	case v.P < r.Alpha && v.Delta > r.Threshold:
		v.Outcome = Slower
	case v.P < r.Alpha && v.Delta < -r.Threshold:
		v.Outcome = Faster
	case v.Scatter > r.Threshold:
		v.Outcome = Noisy
	}
}

// amount judges a figure that is usually exact: then any rise counts, which no
// test of distributions can say (every sample is equal). Where it scatters, as
// bytes do when a pool or a map grows at its own time, a rise must be told from
// the scatter.
func (r Rule) amount(v *Verdict, base, head []float64) {
	r.compare(v, base, head)
	if v.Base == v.Head || (v.P >= r.Alpha && !(constant(base) && constant(head))) {
		return
	}
	v.Outcome = Less
	if v.Head > v.Base {
		v.Outcome = More
	}
}

func (r Rule) compare(v *Verdict, base, head []float64) {
	th := benchmath.Thresholds{CompareAlpha: r.Alpha}
	b, h := benchmath.NewSample(base, &th), benchmath.NewSample(head, &th)
	bs, hs := benchmath.AssumeNothing.Summary(b, 0.95), benchmath.AssumeNothing.Summary(h, 0.95)
	v.Base, v.Head = bs.Center, hs.Center
	v.P = benchmath.AssumeNothing.Compare(b, h).P
	if v.Base != 0 {
		v.Delta = v.Head/v.Base - 1
	}
	v.Scatter = max(halfWidth(bs), halfWidth(hs))
}

func halfWidth(s benchmath.Summary) float64 {
	if s.Center == 0 {
		return 0
	}
	return max(s.Hi-s.Center, s.Center-s.Lo) / s.Center
}

func constant(sorted []float64) bool { return sorted[0] == sorted[len(sorted)-1] }
