package bench

import (
	"flag"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/weir-go/weir/bench/internal/cputime"
	"github.com/weir-go/weir/bench/internal/workload"
)

var full = flag.Bool("full", false, "also run the sizes of 10 million keys (about 2 GB)")

// sink keeps what the loops compute alive.
var sink uint64

// sizes are the numbers of keys of a benchmark that is run on several.
func sizes(keys ...int) []int {
	if *full {
		return append(keys, 10e6)
	}
	return keys
}

// drawn is kept for all repetitions of a benchmark: making a tape takes longer
// than measuring on it.
var drawn struct {
	name string
	tape *workload.Tape
}

func tape(keys int, dist workload.Dist) *workload.Tape {
	if name := fmt.Sprint(keys, dist); drawn.name != name {
		drawn.name, drawn.tape = name, workload.NewTape(0, keys, dist)
	}
	return drawn.tape
}

// filled is kept for all repetitions of a benchmark, like its tape.
var filled struct {
	name string
	rig  *workload.Rig
}

// rig is an engine that every key from 0 to keys-1 has asked.
func rig(layers workload.Layers, by workload.By, keys int) *workload.Rig {
	name := fmt.Sprint(layers, by, keys)
	if filled.name == name {
		return filled.rig
	}
	if filled.rig != nil {
		filled.rig.Close()
	}
	filled.name, filled.rig = name, workload.NewRig(layers, by, keys, 0)
	filled.rig.Fill(keys)
	return filled.rig
}

// drive times decide over the tape on a number of cores, each from its own
// place on the tape, and fails when a single decision is not the one wanted: a
// benchmark that measures something else than its name says is worse than none.
func drive(b *testing.B, cores int, t *workload.Tape, decide func(string) bool, want bool) {
	b.Helper()
	if runtime.NumCPU() < cores {
		b.Skipf("needs %d cores", cores)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	b.ReportAllocs()
	defer processor(b)()
	b.ResetTimer()
	if cores == 1 {
		i, wrong := 0, 0
		for b.Loop() {
			if decide(t.At(i)) != want {
				wrong++
			}
			if i++; i == t.Len() {
				i = 0
			}
		}
		check(b, int64(wrong))
		return
	}
	var worker, wrongs atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		i, wrong := t.Len()/cores*int(worker.Add(1)-1), 0
		for pb.Next() {
			if decide(t.At(i)) != want {
				wrong++
			}
			if i++; i == t.Len() {
				i = 0
			}
		}
		wrongs.Add(int64(wrong))
	})
	check(b, wrongs.Load())
}

// processor reports, when the returned function is called, the processor time
// of an operation since then, in cpu-ns/op: on a machine that others use too it
// scatters much less than the time on the wall.
func processor(b *testing.B) func() {
	start, ok := cputime.Now()
	return func() {
		if end, _ := cputime.Now(); ok {
			b.ReportMetric(float64(end-start)/float64(b.N), "cpu-ns/op")
		}
	}
}

func check(b *testing.B, wrong int64) {
	b.Helper()
	if wrong > 0 {
		b.Fatalf("%d decisions were not the ones this benchmark is about", wrong)
	}
}

// known runs a decision on keys that have all been seen.
func known(b *testing.B, layers workload.Layers, keys int, dist workload.Dist, cores int) {
	drive(b, cores, tape(keys, dist), rig(layers, workload.Nobody, keys).Decide, true)
}
