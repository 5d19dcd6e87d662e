package plant

import (
	"fmt"
	"slices"
)

// Limit is what one scenario asks of a controller, with the default constants
// and the standing signal; for the busy signal see [Limit.Relaxed].
type Limit struct {
	Scenario        string
	MedianReversals int     // over the seeds
	MaxReversals    int     // of one run, like all below
	CriticalGoodput float64 // %, at least
	Goodput         float64 // %, at least; 0: not asked
	Sick            float64 // s, at most
	Health          float64 // s, at most; 0: not asked, the load rises too slowly
	Peak            float64 // tiers, at most
	OverShed        float64 // %, at most; 0: not asked
	Full            float64 // s, at most
}

var limits = []Limit{
	{"S1_step2x", 1, 4, 98.5, 0, 25, 60, 2.0, 4, 300},
	{"S2_slowdep3x", 1, 4, 96.5, 0, 40, 60, 2.6, 5, 300},
	{"S3_testflood", 1, 4, 98.5, 0, 20, 45, 1.4, 4, 240},
	{"S4_caploss50", 1, 6, 97.5, 0, 35, 60, 2.5, 6.5, 600},
	{"S5_retrystorm", 1, 3, 98.5, 0, 25, 60, 1.9, 3.5, 300},
	{"S6_ramp", 1, 3, 99.5, 0, 5, 0, 2.0, 4, 240},
	{"S7_sine", 11, 14, 99.5, 0, 10, 0, 2.0, 7, 240},
	{"S8_delaynoise", 5, 9, 95.0, 0, 75, 90, 2.5, 8, 400},
	{"S9_coldflap", 1, 3, 99.0, 78, 20, 75, 1.7, 7.5, 900},
}

// LimitOf returns the limit of a published scenario.
func LimitOf(scenario string) (Limit, bool) {
	i := slices.IndexFunc(limits, func(l Limit) bool { return l.Scenario == scenario })
	if i < 0 {
		return Limit{}, false
	}
	return limits[i], true
}

// Relaxed is the limit with the plain busy signal, which cannot see a queue.
func (l Limit) Relaxed() Limit {
	l.CriticalGoodput -= 2.5
	l.Sick += 25
	if l.Health > 0 {
		l.Health += 25
	}
	return l
}

// Check returns what the run missed; nothing when it passes.
func (l Limit) Check(r Result) []string {
	var missed []string
	miss := func(bad bool, what string, got, limit any) {
		if bad {
			missed = append(missed, fmt.Sprintf("%s seed %d: %s %.4v, limit %v", r.Scenario, r.Seed, what, got, limit))
		}
	}
	miss(r.Reversals > l.MaxReversals, "reversals", r.Reversals, l.MaxReversals)
	miss(r.CriticalShed > 0, "critical requests shed", r.CriticalShed, 0)
	miss(r.CriticalGoodput < l.CriticalGoodput, "critical goodput %", r.CriticalGoodput, l.CriticalGoodput)
	miss(r.Goodput < l.Goodput, "goodput %", r.Goodput, l.Goodput)
	miss(r.Sick > l.Sick, "sick s", r.Sick, l.Sick)
	miss(l.Health > 0 && r.Health > l.Health, "health s", r.Health, l.Health)
	miss(r.Peak > l.Peak, "peak level", r.Peak, l.Peak)
	miss(l.OverShed > 0 && r.OverShed > l.OverShed, "over-shed %", r.OverShed, l.OverShed)
	miss(!r.Reopened, "reopened", r.Reopened, true)
	miss(r.Reopened && r.Full > l.Full, "full s", r.Full, l.Full)
	return missed
}

// Judge returns what the runs of one scenario missed as a suite: nine of ten
// must pass, and from ten runs on the median of the reversals must be met; of
// fewer it is chance, since one run in three of some scenarios takes a turn more.
func (l Limit) Judge(runs []Result) []string {
	var missed []string
	failed := 0
	reversals := make([]int, 0, len(runs))
	for _, r := range runs {
		reversals = append(reversals, r.Reversals)
		if m := l.Check(r); len(m) > 0 {
			failed++
			missed = append(missed, m...)
		}
	}
	if failed*10 <= len(runs) {
		missed = nil
	}
	slices.Sort(reversals)
	if n := len(reversals); n >= 10 && reversals[(n-1)/2] > l.MedianReversals {
		missed = append(missed, fmt.Sprintf("%s: median of %d runs: reversals %d, limit %d", l.Scenario, n, reversals[(n-1)/2], l.MedianReversals))
	}
	return missed
}
