package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/weir-go/weir/bench/internal/laps"
)

// Report is everything one run measured.
type Report struct {
	Machine laps.Machine  `json:"machine"`
	Tables  []Table       `json:"tables"`
	Budgets []laps.Budget `json:"budgets"`
}

// Table is the contestants of one group at one size.
type Table struct {
	Group string `json:"group"`
	What  string `json:"what"`
	Keys  int    `json:"keys"`
	Dist  string `json:"dist"`
	Cores int    `json:"cores"`
	Rows  []Row  `json:"rows"` // the fastest first
}

// Row is one contestant in a table.
type Row struct {
	Name        string        `json:"name"`
	Module      string        `json:"module"`
	Version     string        `json:"version"`
	Note        string        `json:"note"`
	Weir        bool          `json:"weir"`
	NS          laps.Measured `json:"ns"`
	Ratio       laps.Measured `json:"ratio"` // to the group's first weir, round by round
	Mallocs     float64       `json:"mallocs"`
	BytesPerKey float64       `json:"bytesPerKey"` // 0: keeps nothing per key
	laps        []laps.Lap
}

// fastestPeer is the fastest row that is not weir's.
func (t Table) fastestPeer() (Row, bool) {
	for _, r := range t.Rows {
		if !r.Weir {
			return r, true
		}
	}
	return Row{}, false
}

func (t Table) row(name string) (Row, bool) {
	i := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Name == name })
	if i < 0 {
		return Row{}, false
	}
	return t.Rows[i], true
}

// budgets are the rows of the table of budgets that have a peer in them.
func (r *Report) budgets() {
	for _, t := range r.Tables {
		if t.Group != "rate" || t.Cores != 1 || t.Dist != "uniform" {
			continue
		}
		peer, ok := t.fastestPeer()
		if !ok {
			continue
		}
		n := count(t.Keys)
		if one, ok := t.row("weir"); ok {
			b := laps.Budget{
				ID: "B1", What: "one token-bucket claim, " + n + " keys, one core, against the fastest peer (" + peer.Name + ")",
				Bench: "BenchmarkOneClaim", Unit: "×", Bound: laps.AtMost, Must: 0.5, Aim: 0.2,
				Measured: laps.Ratio(one.laps, peer.laps),
			}
			if t.Keys >= 1e6 {
				b.ID, b.Must, b.Aim = "B2", 0.4, 0.25
			}
			r.Budgets = append(r.Budgets, b)
		}
		if four, ok := t.row("weir, four layers"); ok {
			r.Budgets = append(r.Budgets, laps.Budget{
				ID: "B3", What: "four layers, " + n + " keys, one core, against the fastest peer's one check (" + peer.Name + ")",
				Bench: "BenchmarkFourLayers", Unit: "×", Bound: laps.AtMost, Must: 1, Aim: 0.5,
				Measured: laps.Ratio(four.laps, peer.laps),
			})
		}
	}
	slices.SortStableFunc(r.Budgets, func(a, b laps.Budget) int {
		if a.ID < b.ID {
			return -1
		}
		if a.ID > b.ID {
			return 1
		}
		return 0
	})
}

func (r *Report) print(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d cores, %s, %s\n", r.Machine.CPU, r.Machine.Cores, r.Machine.OS, r.Machine.Go)
	for _, t := range r.Tables {
		fmt.Fprintf(w, "\n%s: %s keys, %s, %d core(s)\n", t.What, count(t.Keys), t.Dist, t.Cores)
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(tw, "ns\tmiddle half\t× weir\tallocs\tB/key\t contestant\t")
		for _, row := range t.Rows {
			fmt.Fprintf(tw, "%.1f\t%.1f–%.1f\t%.2f\t%.2f\t%.0f\t %s %s\t\n",
				row.NS.Median, row.NS.Low, row.NS.High, row.Ratio.Median, row.Mallocs, row.BytesPerKey, row.Name, row.Version)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	return laps.PrintBudgets(w, r.Budgets)
}
