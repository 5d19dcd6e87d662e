package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/weir-go/weir/internal/plant"
	"github.com/weir-go/weir/ladder"
)

// rings is how many turns of the level in an overload of 20 minutes are taken
// for ringing: one step up, one correction and one step down are not.
const rings = 4

var (
	sweepTicks  = []float64{1, 5, 10}                            // s
	sweepDelays = []float64{0, 2, 5, 10, 15, 20, 30, 45, 60}     // s
	sweepGains  = []float64{0.25, 0.5, 1, 2, 4, 8, 16, 64}       // times the default rates
	sweepLaws   = []string{"damped", "damped, no stamp", "flap"} // see delayRun
)

const sweepSeeds = 3

// cell is the means over the seeds of one point of a sweep; peak is the highest
// of all.
type cell struct {
	reversals, peak, critical, criticalShed, goodput, overShed, sick, full float64

	runs, shut int // shut: never reopened
}

func newCell(runs []plant.Result) cell {
	c := cell{runs: len(runs)}
	n := float64(len(runs))
	for _, r := range runs {
		c.reversals += float64(r.Reversals) / n
		c.critical += r.CriticalGoodput / n
		c.criticalShed += float64(r.CriticalShed) / n
		c.goodput += r.Goodput / n
		c.overShed += r.OverShed / n
		c.sick += r.Sick / n
		c.full += r.Full / n
		c.peak = max(c.peak, r.Peak)
		if !r.Reopened {
			c.shut++
		}
	}
	return c
}

// sweepResult is all sweeps: delays[law][tick][delay], gains[shed][restore], and
// a point for every variant.
type sweepResult struct {
	delays           [][][]cell
	gains            [][]cell
	variants, bursts []cell
}

func sweepVerb(ctx context.Context, svg string, stdout, stderr io.Writer) int {
	status := newStatus(stderr)
	r, err := sweepAll(ctx, status)
	status.clear()
	if err != nil {
		fmt.Fprintln(stderr, "loadgen ladder: stopped")
		return exitFail
	}
	r.print(stdout)
	if svg != "" {
		var b strings.Builder
		r.draw(&b)
		if err := os.WriteFile(svg, []byte(b.String()), 0o644); err != nil {
			fmt.Fprintln(stderr, "loadgen ladder:", err)
			return exitFail
		}
	}
	return exitOK
}

func sweepAll(ctx context.Context, status *status) (sweepResult, error) {
	var r sweepResult
	p := progress{ctx: ctx, status: status}
	p.total = len(sweepLaws)*len(sweepTicks)*len(sweepDelays) + len(sweepGains)*len(sweepGains) + 2*len(variants)
	for _, law := range sweepLaws {
		var byTick [][]cell
		for _, tick := range sweepTicks {
			var row []cell
			for _, delay := range sweepDelays {
				c, err := p.one(plant.Seeds(delayRun(law, tick, delay), 1, sweepSeeds))
				if err != nil {
					return r, err
				}
				row = append(row, c)
			}
			byTick = append(byTick, row)
		}
		r.delays = append(r.delays, byTick)
	}
	for _, shed := range sweepGains {
		var row []cell
		for _, restore := range sweepGains {
			c, err := p.one(gainRuns(shed, restore))
			if err != nil {
				return r, err
			}
			row = append(row, c)
		}
		r.gains = append(r.gains, row)
	}
	var err error
	r.variants, r.bursts, err = sweepVariants(p.one)
	return r, err
}

// delayRun is an overload of 20 minutes at twice the load, with a sensor that is
// late and a little noisy. The cap is lifted, so that it shows when a law would
// go for critical.
func delayRun(name string, tick, delay float64) plant.Run {
	s, _ := plant.Find("S1") // built in
	s.IncidentS[1] = 1320
	s.DurationS = 1620
	s.LoadAll = plant.Curve{Points: [][2]float64{{120, 1}, {120, 2}, {1320, 2}, {1320, 1}}}
	s.Sensor.NoiseSD = 0.02
	s.Sensor.DelayMS = delay * 1e3
	s.TickMS = tick * 1e3
	r := plant.Run{Scenario: s, Law: ladder.Default()}
	if name == "flap" {
		r.Law = ladder.Flap()
	}
	if name != "damped" { // flap mode knows no age either
		r.Tamper = func(t float64, reading ladder.Reading) ladder.Reading {
			return ladder.Reading{Value: reading.Value, OK: reading.OK}
		}
	}
	r.Law.Max = ladder.Tiers
	return r
}

// gainRuns are the first eight scenarios with both kinds of rates multiplied.
func gainRuns(shed, restore float64) []plant.Run {
	law := ladder.Default()
	for k := range ladder.Tiers {
		law.ShedRate[k] *= shed
		law.RestoreRate[k] *= restore
	}
	var runs []plant.Run
	for _, s := range plant.Scenarios()[:8] {
		runs = append(runs, plant.Seeds(plant.Run{Scenario: s, Law: law}, 1, sweepSeeds)...)
	}
	return runs
}

// print writes the tables in Markdown and says from which delay on it rings.
func (r sweepResult) print(w io.Writer) {
	fmt.Fprint(w, "| law | tick s |")
	for _, d := range sweepDelays {
		fmt.Fprintf(w, " %v s late |", d)
	}
	fmt.Fprintf(w, "\n|---|---|%s\n", strings.Repeat("---|", len(sweepDelays)))
	for l, law := range sweepLaws {
		for t, tick := range sweepTicks {
			fmt.Fprintf(w, "| %s | %v |", law, tick)
			for _, c := range r.delays[l][t] {
				fmt.Fprintf(w, " %.1f, %.2f, %.1f %%", c.reversals, c.peak, c.critical)
				if c.criticalShed > 0 {
					fmt.Fprintf(w, ", **%.0f shed**", c.criticalShed)
				}
				fmt.Fprint(w, " |")
			}
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintln(w)
	for l, law := range sweepLaws {
		for t, tick := range sweepTicks {
			fmt.Fprintf(w, "- %s, tick %v s: %s\n", law, tick, ringsFrom(r.delays[l][t]))
		}
	}

	fmt.Fprint(w, "\n| shed rates \\ restore rates |")
	for _, g := range sweepGains {
		fmt.Fprintf(w, " x%v |", g)
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(sweepGains)))
	for i, g := range sweepGains {
		fmt.Fprintf(w, "| x%v |", g)
		for _, c := range r.gains[i] {
			fmt.Fprintf(w, " %.1f, %.1f %%, %.1f %%, %.0f s |", c.reversals, c.critical, c.overShed, c.full)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w)
	r.printVariants(w)
}

// ringsFrom says from which delay on a row rings.
func ringsFrom(row []cell) string {
	for i, c := range row {
		if c.reversals > rings {
			return fmt.Sprintf("rings from %v s on", sweepDelays[i])
		}
	}
	return fmt.Sprintf("does not ring up to %v s", sweepDelays[len(sweepDelays)-1])
}
