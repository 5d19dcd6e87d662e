// Package laps measures contestants in turns, so that a slow second of the
// machine hits all of them alike: a round is one lap of each, the order changes
// from round to round, and what counts is the ratio within a round.
package laps

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/weir-go/weir/bench/internal/cores"
	"github.com/weir-go/weir/bench/internal/cputime"
	"github.com/weir-go/weir/bench/internal/workload"
)

// Lap is one timed stretch.
type Lap struct {
	NS      float64 `json:"ns"`      // per decision, of one core
	Mallocs float64 `json:"mallocs"` // per decision
	Bytes   float64 `json:"bytes"`   // allocated per decision
}

// Runner makes decisions over a tape, each core from its own place.
type Runner struct {
	Tape   *workload.Tape
	Cores  int
	Decide []func(text string) bool // one, or one for each core
	Want   bool                     // what every decision must be
	at     []int                    // where each core goes on
}

// parts is how many stretches a lap is cut into.
const parts = 4

// Lap makes so many decisions on all cores together and measures them. Some
// more come first, not measured, since the caches are another contestant's.
//
// On one core the time is the processor's, which stands still while something
// else has the core; whatever the contestant does besides, such as collecting
// garbage, is in it. On several it is the time on the wall, since waiting for
// one another counts there, and each goroutine has a core to itself. It is that of the fastest quarter of the lap:
// whatever disturbs only ever adds.
func (r *Runner) Lap(decisions int) (Lap, error) {
	if r.at == nil {
		r.at = make([]int, r.Cores)
		for c := range r.at {
			r.at[c] = r.Tape.Len() / r.Cores * c
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(r.Cores))
	each := decisions / parts / r.Cores
	_, wrong := r.run(each / 2)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fastest := time.Duration(math.MaxInt64)
	for range parts {
		wall, n := r.run(each)
		fastest, wrong = min(fastest, wall), wrong+n
	}
	runtime.ReadMemStats(&after)
	if wrong > 0 {
		return Lap{}, fmt.Errorf("laps: %d decisions were not %t", wrong, r.Want)
	}
	n := float64(parts * each * r.Cores)
	return Lap{
		NS:      float64(fastest.Nanoseconds()) / float64(each),
		Mallocs: float64(after.Mallocs-before.Mallocs) / n,
		Bytes:   float64(after.TotalAlloc-before.TotalAlloc) / n,
	}, nil
}

// run makes so many decisions on each core and returns the time they took, and how many decisions were not the wanted ones.
func (r *Runner) run(each int) (time.Duration, int) {
	if r.Cores == 1 {
		wall := time.Now()
		start, ok := cputime.Now()
		wrong := r.core(0, each)
		if end, _ := cputime.Now(); ok {
			return end - start, wrong
		}
		return time.Since(wall), wrong
	}
	var (
		ready, done sync.WaitGroup
		wrong       = make([]int, r.Cores*16) // a cache line each
		gate        = make(chan struct{})
	)
	ready.Add(r.Cores)
	for c := range r.Cores {
		done.Go(func() {
			cores.Take(c)
			ready.Done()
			<-gate
			wrong[c*16] = r.core(c, each)
		})
	}
	ready.Wait()
	start := time.Now()
	close(gate)
	done.Wait()
	wall := time.Since(start)
	sum := 0
	for _, w := range wrong {
		sum += w
	}
	return wall, sum
}

func (r *Runner) core(c, n int) (wrong int) {
	decide, at := r.Decide[c%len(r.Decide)], r.at[c]
	for n > 0 {
		m := min(n, r.Tape.Len()-at)
		wrong += decideAll(decide, r.Tape.Some(at, m), r.Want)
		at, n = (at+m)%r.Tape.Len(), n-m
	}
	r.at[c] = at
	return wrong
}

// decideAll returns how many of the decisions on the texts are not the wanted ones.
// Its own part in a decision is as small as can be.
func decideAll(decide func(text string) bool, texts string, want bool) (wrong int) {
	for i := workload.KeyLen; i <= len(texts); i += workload.KeyLen {
		if decide(texts[i-workload.KeyLen:i]) != want {
			wrong++
		}
	}
	return wrong
}

// Decisions returns how many decisions make a lap of about the given length.
func (r *Runner) Decisions(length time.Duration) (int, error) {
	n := 1 << 10
	for {
		l, err := r.Lap(n)
		if err != nil {
			return 0, err
		}
		if took := l.NS * float64(n/r.Cores); took > float64(length)/4 {
			return int(float64(n) * float64(length) / took), nil
		}
		n *= 2
	}
}

// Turns runs the contestants' laps, a number of rounds of them, and returns
// each one's laps by round. Every contestant comes first in one round of as
// many as there are.
func Turns(contestants, rounds int, lap func(contestant int) (Lap, error)) ([][]Lap, error) {
	out := make([][]Lap, contestants)
	for round := range rounds {
		for i := range contestants {
			c := (i + round) % contestants
			if round%2 == 1 { // nobody always runs after the same one
				c = (round + contestants - i) % contestants
			}
			l, err := lap(c)
			if err != nil {
				return nil, err
			}
			out[c] = append(out[c], l)
		}
	}
	return out, nil
}

// Measured is a figure with the range in which the middle half of its samples
// lies.
type Measured struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`  // lower quartile
	High   float64 `json:"high"` // upper quartile
	N      int     `json:"n"`
}

// Summarize is the median and the quartiles of samples.
func Summarize(samples []float64) Measured {
	s := slices.Sorted(slices.Values(samples))
	at := func(q float64) float64 {
		x := q * float64(len(s)-1)
		i := int(math.Floor(x))
		j := min(i+1, len(s)-1)
		return s[i] + (x-float64(i))*(s[j]-s[i])
	}
	return Measured{Median: at(0.5), Low: at(0.25), High: at(0.75), N: len(s)}
}

// NS is what the laps took per decision.
func NS(laps []Lap) Measured {
	return Summarize(each(laps, func(l Lap) float64 { return l.NS }))
}

// Mallocs is the median of the laps' allocations per decision.
func Mallocs(laps []Lap) float64 {
	return Summarize(each(laps, func(l Lap) float64 { return l.Mallocs })).Median
}

// Ratio is a's time to b's, round by round.
func Ratio(a, b []Lap) Measured {
	samples := make([]float64, min(len(a), len(b)))
	for i := range samples {
		samples[i] = a[i].NS / b[i].NS
	}
	return Summarize(samples)
}

func each(laps []Lap, of func(Lap) float64) []float64 {
	out := make([]float64, len(laps))
	for i, l := range laps {
		out[i] = of(l)
	}
	return out
}
