package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/weir-go/weir/bench/internal/laps"
	"github.com/weir-go/weir/bench/internal/workload"
)

// scaling: one engine on two cores over distinct keys, against two engines that
// share nothing on the same two cores. What is lost is what weir shares: the
// gate's word, the counters, the clock.
func scaling(o options, r *laps.Report) error {
	if runtime.NumCPU() < 2 {
		return nil
	}
	for _, keys := range []int{1e3, 1e6} {
		// The two cores start half a tape apart, in halves of the population that
		// have no key in common.
		tape := workload.NewHalves(keys)
		shared := filled(workload.All, workload.Nobody, keys)
		mine, yours := filled(workload.All, workload.Nobody, keys), filled(workload.All, workload.Nobody, keys)
		out, err := o.turns(
			admitted(tape, 2, shared),
			admitted(tape, 2, mine, yours),
			admitted(tape, 1, shared),
		)
		for _, g := range []*workload.Rig{shared, mine, yours} {
			g.Close()
		}
		if err != nil {
			return err
		}
		n := workload.Count(keys)
		r.Budgets = append(r.Budgets, laps.Budget{
			ID: "B4", What: "four layers on two cores over distinct keys, " + n + " keys: speed relative to two engines that share nothing",
			Bench: "BenchmarkFourLayers", Unit: "×", Bound: laps.AtLeast, Must: 0.85, Aim: 0.97,
			Measured: laps.Ratio(out[1], out[0]),
		})
		r.Figure("four layers, "+n+" keys, one core", "ns", laps.NS(out[2]))
		r.Figure("four layers, "+n+" keys, two cores, of each core", "ns", laps.NS(out[0]))
		r.Figure("two engines that share nothing, "+n+" keys, of each core", "ns", laps.NS(out[1]))
		perSecond := make([]float64, len(out[2]))
		for i, l := range out[2] {
			perSecond[i] = 1e3 / l.NS
		}
		r.Figure("four layers, "+n+" keys, decisions per second and core", "million", laps.Summarize(perSecond))
	}
	return nil
}

// refusal: each layer's refusal of a four-layer request against the admission
// of the same request plus one reading of the clock.
func refusal(o options, r *laps.Report) error {
	const keys = 1000
	tape := workload.NewTape(0, keys, workload.Uniform)
	admit := filled(workload.All, workload.Nobody, keys)
	defer admit.Close()
	epoch := time.Now()
	var sink time.Duration
	runners := []*laps.Runner{
		admitted(tape, 1, admit),
		{Tape: tape, Cores: 1, Want: true, Decide: []func(string) bool{func(string) bool {
			sink += time.Since(epoch)
			return true
		}}},
	}
	refusers := []workload.By{workload.ByRate, workload.ByConcurrency, workload.ByFleet, workload.ByWorker}
	for _, by := range refusers {
		g := filled(workload.All, by, keys)
		defer g.Close()
		runners = append(runners, &laps.Runner{Tape: tape, Cores: 1, Decide: []func(string) bool{g.Decide}})
	}
	out, err := o.turns(runners...)
	if err != nil {
		return err
	}
	r.Figure("one reading of the clock", "ns", laps.NS(out[1]))
	for i, by := range refusers {
		refused := out[2+i]
		ratios := make([]float64, len(refused))
		for j, l := range refused {
			ratios[j] = l.NS / (out[0][j].NS + out[1][j].NS)
		}
		r.Figure("four layers, 1k keys, refused by "+string(by), "ns", laps.NS(refused))
		r.Budgets = append(r.Budgets, laps.Budget{
			ID: "B5", What: fmt.Sprintf("four-layer refusal by %s against Admit + Done of the same request plus one clock read", by),
			Bench: "BenchmarkRefused", Unit: "×", Bound: laps.AtMost, Must: 1, Aim: 0.8,
			Measured: laps.Summarize(ratios),
		})
	}
	return nil
}

// memory: what one state takes in a table that is filled to what it was sized
// for.
func memory(o options, r *laps.Report) error {
	var samples []float64
	for range 3 {
		before := workload.MemoryNow()
		g := filled(workload.Rate, workload.Nobody, o.states())
		samples = append(samples, float64(workload.MemoryNow().Since(before))/float64(o.states()))
		g.Close()
	}
	r.Budgets = append(r.Budgets, laps.Budget{
		ID: "B6", What: "memory per state, " + workload.Count(o.states()) + " states",
		Bench: "BenchmarkBytesPerKey", Unit: " B", Bound: laps.AtMost, Must: 30, Aim: 27,
		Measured: laps.Summarize(samples),
	})
	return nil
}

// garbage: the processor time of a full collection with and without a full
// table, in turns.
func garbage(o options, r *laps.Report) error {
	const cycles = 10
	var with, without, extra []float64
	for range 3 {
		runtime.GC()
		var base, loaded []float64
		for range cycles {
			cpu, _ := workload.CollectGarbage()
			base = append(base, cpu.Seconds()*1e3)
		}
		g := filled(workload.Rate, workload.Nobody, o.states())
		runtime.GC()
		for range cycles {
			cpu, _ := workload.CollectGarbage()
			loaded = append(loaded, cpu.Seconds()*1e3)
		}
		g.Close()
		runtime.KeepAlive(g)
		with, without = append(with, loaded...), append(without, base...)
		extra = append(extra, laps.Summarize(loaded).Median-laps.Summarize(base).Median)
	}
	n := workload.Count(o.states())
	r.Budgets = append(r.Budgets, laps.Budget{
		ID: "B7", What: "processor time of a garbage collection: what " + n + " states add",
		Bench: "BenchmarkGC", Unit: " ms", Bound: laps.AtMost, Must: 1, Aim: 0.05,
		Measured: laps.Summarize(extra),
	})
	r.Figure("garbage collection without a table", "ms", laps.Summarize(without))
	r.Figure("garbage collection with "+n+" states", "ms", laps.Summarize(with))
	return nil
}

// floor: one claim against the least that a check of a key can do here.
func floor(o options, r *laps.Report) error {
	for _, keys := range []int{1e3, 1e6} {
		tape := workload.NewTape(0, keys, workload.Uniform)
		g := filled(workload.Rate, workload.Nobody, keys)
		f := workload.NewFloor(keys)
		out, err := o.turns(
			admitted(tape, 1, g),
			&laps.Runner{Tape: tape, Cores: 1, Want: true, Decide: []func(string) bool{f.Bare}},
			&laps.Runner{Tape: tape, Cores: 1, Want: true, Decide: []func(string) bool{f.Identity}},
			&laps.Runner{Tape: tape, Cores: 1, Want: true, Decide: []func(string) bool{func(s string) bool { return s != "" }}},
		)
		g.Close()
		if err != nil {
			return err
		}
		n := workload.Count(keys)
		r.Budgets = append(r.Budgets, laps.Budget{
			ID: "B9", What: "one claim, " + n + " keys, against hash + one line + one swap",
			Bench: "BenchmarkFloor", Unit: "×", Bound: laps.AtMost, Must: 2, Aim: 1.3,
			Measured: laps.Ratio(out[0], out[1]),
		})
		r.Figure("one claim, "+n+" keys", "ns", laps.NS(out[0]))
		r.Figure("floor, "+n+" keys: hash + line + swap", "ns", laps.NS(out[1]))
		r.Figure("floor, "+n+" keys: 128-bit identity + line + swap", "ns", laps.NS(out[2]))
		r.Figure("one claim against the floor with the 128-bit identity, "+n+" keys", "×", laps.Ratio(out[0], out[2]))
		r.Figure("the benchmark's own loop, "+n+" keys", "ns", laps.NS(out[3]))
	}
	return nil
}

// storm: single decisions while every key is new.
func storm(o options, r *laps.Report) error {
	var ratio, median, tail []float64
	for range max(o.rounds/6, 1) {
		s := workload.NewKeyStorm(workload.Rate, 1e6, min(2, runtime.NumCPU()))
		median, tail = append(median, float64(s.Median)), append(tail, float64(s.P999))
		ratio = append(ratio, float64(s.P999)/float64(max(s.Median, 1)))
	}
	r.Budgets = append(r.Budgets, laps.Budget{
		ID: "B10", What: "a million new keys on two cores: p99.9 of a decision against its median",
		Bench: "BenchmarkNewKeyStorm", Unit: "×", Bound: laps.AtMost, Must: 50, Aim: 10,
		Measured: laps.Summarize(ratio),
	})
	r.Figure("new-key storm, median", "ns", laps.Summarize(median))
	r.Figure("new-key storm, p99.9", "ns", laps.Summarize(tail))
	return nil
}
