package main

import (
	"fmt"
	"os"
	"time"

	"github.com/weir-go/weir/bench/internal/laps"
	"github.com/weir-go/weir/bench/internal/workload"
)

// measure runs everything, one subject after the other; within a subject the
// figures that make a ratio are measured in turns.
func measure(o options) (*laps.Report, error) {
	r := &laps.Report{Machine: laps.ThisMachine()}
	for _, subject := range []struct {
		name string
		run  func(options, *laps.Report) error
	}{
		{"scaling", scaling},
		{"refusal", refusal},
		{"fleet", syncing},
		{"memory", memory},
		{"garbage collection", garbage},
		{"floor", floor},
		{"storm", storm},
	} {
		if o.only != "" && o.only != subject.name {
			continue
		}
		start := time.Now()
		if err := subject.run(o, r); err != nil {
			return nil, fmt.Errorf("%s: %w", subject.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %.0f s\n", subject.name, time.Since(start).Seconds())
	}
	if len(r.Budgets) == 0 {
		return nil, fmt.Errorf("only %q: there is no such subject", o.only)
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
