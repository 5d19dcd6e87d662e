package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/weir-go/weir/internal/plant"
	"github.com/weir-go/weir/ladder"
)

const ladderHelp = `usage: loadgen ladder [flags]

Replays overloads of a simulated service against the ladder, in virtual time, and
says what became of them. Nine scenarios are built in, with the limits that the
ladder must meet; a file in the same JSON format has none. Exits 1 when the
damped ladder misses a limit: nine of ten seeds must pass, and of ten or more the
median of the reversals. Flap mode, the same law without its dampers, is there for comparison.

  loadgen ladder -scenario S5 -controller both -seeds 10
  loadgen ladder -real -scenario S5

flags:
`

// controllers are the laws that can be put in the loop.
var controllers = map[string]func() ladder.Config{"damped": ladder.Default, "flap": ladder.Flap}

func ladderVerb(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("ladder", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { fmt.Fprint(stderr, ladderHelp); fs.PrintDefaults() }
	var (
		scenario   = fs.String("scenario", "all", "S1 to S9, all, or a JSON `file`")
		controller = fs.String("controller", "damped", "damped, flap or both")
		seeds      = fs.Int("seeds", 10, "how many runs of each, 1 to 1000")
		seed       = fs.Uint64("seed", 501, "seed of the first run; the others count on")
		limit      = fs.Float64("max", 3, "highest level, 0 to 4; above 3 critical may be shed")
		asJSON     = fs.Bool("json", false, "print every run as JSON")
		trace      = fs.Bool("trace", false, "with -json: the level at every tick, too")
		list       = fs.Bool("list", false, "print the built-in scenarios as JSON lines and exit")
		sweep      = fs.Bool("sweep", false, "instead: for which delays and gains the ladder rings and what each damper is for, as Markdown tables (minutes)")
		real       = fs.Bool("real", false, fmt.Sprintf("instead: one scenario on a real server with real clients, %d times as fast (minutes)", realSpeed))
		svg        = fs.String("svg", "", "with -sweep: draw it to this `file`")
	)
	if code, ok := parseFlags(fs, args, stderr); !ok {
		return code
	}
	if *list {
		for _, s := range plant.Scenarios() {
			line, _ := json.Marshal(s) // strings and numbers always encode
			fmt.Fprintf(stdout, "%s\n", line)
		}
		return exitOK
	}
	if *sweep {
		return sweepVerb(ctx, *svg, stdout, stderr)
	}
	scenarios, err := findScenarios(*scenario)
	if err == nil && (*seeds < 1 || *seeds > 1000) {
		err = fmt.Errorf("-seeds %d: must be from 1 to 1000", *seeds)
	}
	if err == nil && !(*limit >= 0 && *limit <= ladder.Tiers) {
		err = fmt.Errorf("-max %v: must be from 0 to %d", *limit, ladder.Tiers)
	}
	names := []string{*controller}
	if *controller == "both" {
		names = []string{"damped", "flap"}
	} else if controllers[*controller] == nil && err == nil {
		err = fmt.Errorf("-controller %q: must be damped, flap or both", *controller)
	}
	if err == nil && *real && (len(scenarios) != 1 || len(names) != 1) {
		err = fmt.Errorf("-real: takes one scenario and one controller")
	}
	if err != nil {
		return usageError(stderr, "ladder", err)
	}
	if *real {
		return realVerb(ctx, scenarios[0], names[0], *seed, *asJSON, *trace, stdout, stderr)
	}

	var reports []ladderReport
	for _, s := range scenarios {
		for _, name := range names {
			law := controllers[name]()
			law.Max = *limit
			runs, err := plant.All(ctx, plant.Seeds(plant.Run{Scenario: s, Law: law}, *seed, *seeds))
			if err != nil {
				fmt.Fprintln(stderr, "loadgen ladder: stopped")
				return exitFail
			}
			reports = append(reports, newLadderReport(s, name, runs, *trace))
		}
	}
	if *asJSON {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(reports)
	} else {
		err = printLadder(stdout, reports)
	}
	if err != nil {
		fmt.Fprintln(stderr, "loadgen ladder:", err)
		return exitFail
	}
	for _, r := range reports {
		if r.Controller == "damped" && len(r.Missed) > 0 {
			return exitFail
		}
	}
	return exitOK
}

// findScenarios returns the scenarios that a flag names.
func findScenarios(name string) ([]plant.Scenario, error) {
	if name == "all" {
		return plant.Scenarios(), nil
	}
	if s, ok := plant.Find(name); ok {
		return []plant.Scenario{s}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("-scenario %q: not a built-in scenario (S1 to S9, all), and as a file: %w", name, err)
	}
	defer f.Close()
	s, err := plant.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("-scenario %s: %w", name, err)
	}
	return []plant.Scenario{s}, nil
}

// ladderReport is one scenario with one controller.
type ladderReport struct {
	Scenario    string         `json:"scenario"`
	Description string         `json:"description"`
	Controller  string         `json:"controller"`
	Limited     bool           `json:"limited"` // a built-in scenario: it has limits
	Missed      []string       `json:"missed"`  // limits not met
	Runs        []plant.Result `json:"runs"`
}

func newLadderReport(s plant.Scenario, controller string, runs []plant.Result, trace bool) ladderReport {
	r := ladderReport{Scenario: s.Name, Description: s.Description, Controller: controller, Missed: []string{}, Runs: runs}
	if l, ok := plant.LimitOf(s.Name); ok {
		r.Limited = true
		if m := l.Judge(runs); len(m) > 0 {
			r.Missed = m
		}
	}
	if !trace {
		for i := range runs {
			runs[i].Trace = nil
		}
	}
	return r
}

func (r ladderReport) verdict() string {
	switch {
	case !r.Limited:
		return "-"
	case len(r.Missed) > 0:
		return "misses its limits"
	}
	return "meets its limits"
}

// median returns the middle of a figure over the runs, and its extremes.
func median(runs []plant.Result, figure func(plant.Result) float64) (mid, least, most float64) {
	all := make([]float64, len(runs))
	for i, r := range runs {
		all[i] = figure(r)
	}
	slices.Sort(all)
	return all[(len(all)-1)/2], all[0], all[len(all)-1]
}

// printLadder prints a line for every report: medians, and for the reversals
// their range too; what was missed follows.
func printLadder(w io.Writer, reports []ladderReport) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "scenario\tcontroller\treversals\tcritical good\tall good\tcritical shed\tsick\thealthy after\tpeak level\tover-shed\topen after\t")
	for _, r := range reports {
		mid := func(f func(plant.Result) float64) float64 { m, _, _ := median(r.Runs, f); return m }
		turns, fewest, most := median(r.Runs, func(r plant.Result) float64 { return float64(r.Reversals) })
		open := fmt.Sprintf("%.0f s", mid(func(r plant.Result) float64 { return r.Full }))
		if n := slices.IndexFunc(r.Runs, func(r plant.Result) bool { return !r.Reopened }); n >= 0 {
			open = "never"
		}
		fmt.Fprintf(tw, "%s\t%s\t%.0f (%.0f-%.0f)\t%.1f %%\t%.1f %%\t%.0f\t%.0f s\t%.0f s\t%.2f\t%.1f %%\t%s\t%s\n",
			r.Scenario, r.Controller, turns, fewest, most,
			mid(func(r plant.Result) float64 { return r.CriticalGoodput }),
			mid(func(r plant.Result) float64 { return r.Goodput }),
			mid(func(r plant.Result) float64 { return float64(r.CriticalShed) }),
			mid(func(r plant.Result) float64 { return r.Sick }),
			mid(func(r plant.Result) float64 { return r.Health }),
			mid(func(r plant.Result) float64 { return r.Peak }),
			mid(func(r plant.Result) float64 { return r.OverShed }),
			open, r.verdict())
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, r := range reports {
		if r.Controller == "damped" && len(r.Missed) > 0 {
			fmt.Fprintf(w, "\n%s\n", strings.Join(r.Missed, "\n"))
		}
	}
	return nil
}
