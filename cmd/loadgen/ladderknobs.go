package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/weir-go/weir/internal/plant"
	"github.com/weir-go/weir/ladder"
)

// variant is the law with something changed.
type variant struct {
	name   string
	change func(c *ladder.Config)
}

// variants are first the knobs that an operator may want to turn, then the
// dampers taken out one by one.
var variants = []variant{
	{"as it is", func(*ladder.Config) {}},
	{"`High` 0.75, `Low` 0.70", func(c *ladder.Config) { c.High, c.Low = 0.75, 0.70 }},
	{"`High` 0.85, `Low` 0.80", func(c *ladder.Config) { c.High, c.Low = 0.85, 0.80 }},
	{"`Arm` 2.5 s", func(c *ladder.Config) { c.Arm = 2500 * time.Millisecond }},
	{"`Arm` 10 s", func(c *ladder.Config) { c.Arm = 10 * time.Second }},
	{"`HoldMax` 20 s (never back off)", func(c *ladder.Config) { c.HoldMax = c.Hold }},
	{"`Hold` 40 s", func(c *ladder.Config) { c.Hold = 40 * time.Second }},
	{"without the level filter", func(c *ladder.Config) { c.Smooth = 0 }},
	{"without arming", func(c *ladder.Config) { c.Arm = 0 }},
	{"without the brake", func(c *ladder.Config) { c.Brake = 0 }},
	{"without slow restoring", func(c *ladder.Config) { c.RestoreRate = c.ShedRate }},
	{"without step caps", func(c *ladder.Config) { c.StepUp, c.StepDown = ladder.Tiers, ladder.Tiers }},
	{"without holding", func(c *ladder.Config) { c.Hold, c.HoldMax = 0, 0 }},
	{"without probing", func(c *ladder.Config) { c.Probe = 1e-9 }},
	{"flap mode", func(c *ladder.Config) { *c = ladder.Flap() }},
}

// burst is load that is over before shedding could help: three times as much for
// ten seconds.
func burst() plant.Scenario {
	s, _ := plant.Find("S1") // built in
	s.Name = "burst"
	s.IncidentS = [2]float64{120, 130}
	s.DurationS = 720
	s.LoadAll = plant.Curve{Points: [][2]float64{{120, 1}, {120, 3}, {130, 3}, {130, 1}}}
	return s
}

// sweepVariants returns a point over the nine scenarios for every variant, and
// one over the burst.
func sweepVariants(one func([]plant.Run) (cell, error)) (all, bursts []cell, err error) {
	for _, v := range variants {
		law := ladder.Default()
		v.change(&law)
		var runs []plant.Run
		for _, s := range plant.Scenarios() {
			runs = append(runs, plant.Seeds(plant.Run{Scenario: s, Law: law}, 1, sweepSeeds)...)
		}
		c, err := one(runs)
		if err != nil {
			return nil, nil, err
		}
		b, err := one(plant.Seeds(plant.Run{Scenario: burst(), Law: law}, 1, sweepSeeds))
		if err != nil {
			return nil, nil, err
		}
		all, bursts = append(all, c), append(bursts, b)
	}
	return all, bursts, nil
}

func (r sweepResult) printVariants(w io.Writer) {
	fmt.Fprintln(w, "| law | reversals per run | critical goodput | goodput | over-shed | sick | open after | never reopened | goodput of a 10 s burst |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	for i, v := range variants {
		c := r.variants[i]
		fmt.Fprintf(w, "| %s | %.1f | %.1f %% | %.1f %% | %.1f %% | %.0f s | %.0f s | %d of %d | %.1f %% |\n",
			v.name, c.reversals, c.critical, c.goodput, c.overShed, c.sick, c.full, c.shut, c.runs, r.bursts[i].goodput)
	}
}

// progress counts points as they are done.
type progress struct {
	ctx         context.Context
	status      *status
	done, total int
}

func (p *progress) one(runs []plant.Run) (cell, error) {
	results, err := plant.All(p.ctx, runs)
	p.done++
	p.status.show(fmt.Sprintf("%d of %d points", p.done, p.total))
	return newCell(results), err
}
