package main

import (
	"cmp"
	"slices"

	"github.com/weir-go/weir/bench/internal/laps"
	"github.com/weir-go/weir/bench/internal/workload"
)

// budgets adds the rows of the table of budgets that have a peer in them.
func budgets(r *laps.Report) {
	for _, t := range r.Tables {
		if t.Group != "rate" || t.Cores != 1 || t.Dist != string(workload.Uniform) {
			continue
		}
		peer, ok := t.FastestPeer()
		if !ok {
			continue
		}
		n := workload.Count(t.Keys)
		if one, ok := t.Row("weir"); ok && (t.Keys == 1e3 || t.Keys == 1e6) {
			b := laps.Budget{
				ID: "B1", What: "one token-bucket claim, " + n + " keys, one core, against the fastest peer (" + peer.Name + ")",
				Bench: "BenchmarkOneClaim", Unit: "×", Bound: laps.AtMost, Must: 0.5, Aim: 0.2,
				Measured: laps.Ratio(one.Laps, peer.Laps),
			}
			if t.Keys == 1e6 {
				b.ID, b.Must, b.Aim = "B2", 0.4, 0.25
			}
			r.Budgets = append(r.Budgets, b)
		}
		if four, ok := t.Row("weir, four layers"); ok && (t.Keys == 1e3 || t.Keys == 1e6) {
			r.Budgets = append(r.Budgets, laps.Budget{
				ID: "B3", What: "four layers, " + n + " keys, one core, against the fastest peer's one check (" + peer.Name + ")",
				Bench: "BenchmarkFourLayers", Unit: "×", Bound: laps.AtMost, Must: 1, Aim: 0.5,
				Measured: laps.Ratio(four.Laps, peer.Laps),
			})
		}
	}
	slices.SortStableFunc(r.Budgets, func(a, b laps.Budget) int { return cmp.Compare(a.ID, b.ID) })
}
