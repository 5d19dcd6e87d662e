package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/weir-go/weir/bench/internal/laps"
	"github.com/weir-go/weir/bench/internal/workload"
)

// Report is everything one run measured.
type Report struct {
	Machine laps.Machine  `json:"machine"`
	Budgets []laps.Budget `json:"budgets"`
	Figures []Figure      `json:"figures"`
}

// Figure is a measurement that explains a budget or stands beside it.
type Figure struct {
	Name     string        `json:"name"`
	Unit     string        `json:"unit"`
	Measured laps.Measured `json:"measured"`
}

func (r *Report) figure(name, unit string, m laps.Measured) {
	r.Figures = append(r.Figures, Figure{Name: name, Unit: unit, Measured: m})
}

func (r *Report) print(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d cores, %s, %s\n\n", r.Machine.CPU, r.Machine.Cores, r.Machine.OS, r.Machine.Go)
	if err := laps.PrintBudgets(w, r.Budgets); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, f := range r.Figures {
		fmt.Fprintf(w, "%-60s %8.4g %-12s (%.4g–%.4g)\n", f.Name, f.Measured.Median, f.Unit, f.Measured.Low, f.Measured.High)
	}
	return nil
}

// measure runs everything, one subject after the other; within a subject the
// figures that make a ratio are measured in turns.
func measure(o options) (*Report, error) {
	r := &Report{Machine: laps.ThisMachine()}
	for _, subject := range []struct {
		name string
		run  func(options, *Report) error
	}{
		{"scaling", scaling},
		{"refusal", refusal},
		{"memory", memory},
		{"garbage collection", garbage},
		{"floor", floor},
		{"storm", storm},
	} {
		start := time.Now()
		if err := subject.run(o, r); err != nil {
			return nil, fmt.Errorf("%s: %w", subject.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %.0f s\n", subject.name, time.Since(start).Seconds())
	}
	return r, nil
}

// turns measures the runners against each other.
func (o options) turns(runners ...*laps.Runner) ([][]laps.Lap, error) {
	decisions := make([]int, len(runners))
	for i, r := range runners {
		n, err := r.Decisions(o.lap)
		if err != nil {
			return nil, err
		}
		decisions[i] = n
	}
	return laps.Turns(len(runners), o.rounds, func(c int) (laps.Lap, error) {
		return runners[c].Lap(decisions[c])
	})
}

// admitted is a runner over keys that a rig admits.
func admitted(t *workload.Tape, cores int, rigs ...*workload.Rig) *laps.Runner {
	r := &laps.Runner{Tape: t, Cores: cores, Want: true}
	for _, g := range rigs {
		r.Decide = append(r.Decide, g.Decide)
	}
	return r
}

func filled(layers workload.Layers, by workload.By, keys int) *workload.Rig {
	g := workload.NewRig(layers, by, keys, 0)
	g.Fill(keys)
	return g
}
