package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/bench/internal/laps"
	"github.com/weir-go/weir/bench/internal/workload"
)

func main() {
	var o options
	childArg := flag.String("child", "", "used by the program itself")
	flag.IntVar(&o.rounds, "rounds", 21, "rounds: laps of each contestant")
	flag.DurationVar(&o.lap, "lap", 20*time.Millisecond, "length of a lap")
	flag.BoolVar(&o.full, "full", false, "also 10 million keys (about 16 GB of memory)")
	flag.StringVar(&o.only, "only", "", "only contestants whose name contains this, and weir")
	jsonPath := flag.String("json", "", "also write the figures to this file")
	flag.Parse()
	if *childArg != "" {
		childMain(*childArg)
		return
	}
	if o.rounds < 1 || o.lap <= 0 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	r, err := compare(o)
	if err == nil {
		err = r.Write(os.Stdout, *jsonPath)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "versus:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds int
	lap    time.Duration
	full   bool
	only   string
}

func count(keys int) string { return workload.Count(keys) }

// event is one group at one size.
type event struct {
	group
	keys int
	dist workload.Dist
}

func (o options) events() []event {
	byName := map[string]group{}
	for _, g := range groups {
		g.contestants = slices.DeleteFunc(slices.Clone(g.contestants), func(c contestant) bool {
			return !c.weir && !strings.Contains(c.name, o.only)
		})
		byName[g.name] = g
	}
	out := []event{
		{byName["rate"], 1e3, workload.Uniform},
		{byName["rate"], 1e4, workload.Uniform},
		{byName["rate"], 1e5, workload.Uniform},
		{byName["rate"], 1e6, workload.Uniform},
		{byName["rate"], 1e6, workload.Zipf},
		{byName["concurrency"], 1e3, workload.Uniform},
		{byName["concurrency"], 1e6, workload.Uniform},
		{byName["process"], 1, workload.Uniform},
	}
	if o.full {
		out = append(out, event{byName["rate"], 10e6, workload.Uniform})
	}
	return out
}

func compare(o options) (*laps.Report, error) {
	r := &laps.Report{Machine: laps.ThisMachine()}
	for _, e := range o.events() {
		start := time.Now()
		tables, err := e.run(o, r.Machine.Modules)
		if err != nil {
			return nil, fmt.Errorf("%s, %s keys: %w", e.name, count(e.keys), err)
		}
		r.Tables = append(r.Tables, tables...)
		fmt.Fprintf(os.Stderr, "%s, %s keys, %s: %.0f s\n", e.name, count(e.keys), e.dist, time.Since(start).Seconds())
	}
	budgets(r)
	return r, nil
}

// run starts a child for every contestant and takes their laps in turns, on one
// core and on two.
func (e event) run(o options, versions map[string]string) (tables []laps.Table, err error) {
	var children []*process
	defer func() {
		for _, p := range children {
			err = errors.Join(err, p.close())
		}
	}()
	for _, c := range e.contestants {
		p, err := start(assignment{Group: e.name, Contestant: c.name, Keys: e.keys, Dist: e.dist, Lap: o.lap})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		children = append(children, p)
	}
	for cores := 1; cores <= min(2, runtime.NumCPU()); cores++ {
		out, err := laps.Turns(len(children), o.rounds, func(i int) (laps.Lap, error) {
			a, err := children[i].lap(cores)
			if err != nil {
				err = fmt.Errorf("%s: %w", e.contestants[i].name, err)
			}
			return a.Lap, err
		})
		if err != nil {
			return nil, err
		}
		t := laps.Table{Group: e.name, What: e.what, Keys: e.keys, Dist: string(e.dist), Cores: cores}
		weir := slices.IndexFunc(e.contestants, func(c contestant) bool { return c.weir })
		for i, c := range e.contestants {
			t.Rows = append(t.Rows, laps.Row{
				Name: c.name, Module: c.module, Version: versions[c.module], Note: c.note, Weir: c.weir,
				NS: laps.NS(out[i]), Ratio: laps.Ratio(out[i], out[weir]), Mallocs: laps.Mallocs(out[i]),
				BytesPerKey: children[i].ready.BytesPerKey, Laps: out[i],
			})
		}
		slices.SortStableFunc(t.Rows, func(a, b laps.Row) int {
			if a.NS.Median < b.NS.Median {
				return -1
			}
			return 1
		})
		tables = append(tables, t)
	}
	return tables, nil
}
