package main

import (
	"fmt"

	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
)

// chargesWithout is the share of charges that an incident must cost to be one:
// fewer than this succeed without the layer.
const chargesWithout = 0.70

// verdict is what has to be true of an act.
type verdict struct {
	chargesWith float64      // share of charges that succeed with the layer, at least
	by          engine.Layer // the layer that has to refuse
	status      int          // how it has to refuse, and nothing else may
	caught      string       // the group that it has to refuse; "" for any request
	others      float64      // share of everyone else's requests that succeed; 0: not asked
	reopens     bool         // in the end everything is admitted again
}

// check returns what is not true.
func (v verdict) check(without, with *take) (untrue []string) {
	fail := func(format string, args ...any) { untrue = append(untrue, fmt.Sprintf(format, args...)) }
	if got := without.charges().Share(); got >= chargesWithout {
		fail("without the layer %.1f %% of charges succeed: no incident (below %.0f %% was to be shown)", 100*got, 100*chargesWithout)
	}
	if got := with.charges().Share(); got < v.chargesWith {
		fail("with the layer only %.1f %% of charges succeed, at least %.0f %% was to be shown", 100*got, 100*v.chargesWith)
	}
	byLayer := int64(0)
	for k, r := range with.rows {
		byLayer += r.Refused[drive.Refusal{Layer: v.by.String(), Status: v.status}]
		for how := range r.Refused {
			if how.Layer == v.by.String() && how.Status != v.status {
				fail("%v refuses with %d instead of %d", v.by, how.Status, v.status)
			}
		}
		if k.group == "" && v.others > 0 && r.Share() < v.others {
			fail("%.1f %% of everyone else's %v requests succeed, at least %.0f %% was to be shown", 100*r.Share(), k.class, 100*v.others)
		}
	}
	if v.caught != "" {
		byLayer = 0
		for k, r := range with.rows {
			if k.group == v.caught {
				byLayer += r.Refused[drive.Refusal{Layer: v.by.String(), Status: v.status}]
			}
		}
	}
	if byLayer == 0 {
		fail("the %v layer refused nothing of what it was armed against", v.by)
	}
	if v.reopens {
		untrue = append(untrue, closed(with)...)
	}
	return untrue
}

// closed says what is still refused at the end of a take.
func closed(t *take) (untrue []string) {
	if l := t.snapshot.Ladder.Level; l != 0 {
		untrue = append(untrue, fmt.Sprintf("at the end the ladder still stands at %.2f", l))
	}
	offered := int64(0)
	for k, r := range t.after() {
		offered += r.Offered
		if n := r.Ends[target.Refused]; n > 0 {
			untrue = append(untrue, fmt.Sprintf("in the last %v %d of %d %v requests are still refused", aftermath, n, r.Offered, k))
		}
	}
	if offered == 0 {
		untrue = append(untrue, fmt.Sprintf("nothing was offered in the last %v", aftermath))
	}
	return untrue
}
