package workload

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

// Storm is how long single decisions took when every one was on a new key.
type Storm struct {
	Median, P99, P999, Max time.Duration
	Decisions              int
}

// NewKeyStorm times every one of so many decisions on keys that have never
// asked, from all cores at once, on one empty table. The time of reading the
// clock is subtracted: left in, it would hide in the median and flatter the
// tail.
func NewKeyStorm(layers Layers, keys, cores int) Storm {
	t := NewTape(0, keys, Once)
	rig := NewRig(layers, Nobody, keys, 0)
	defer rig.Close()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
	clock := clockCost()
	times := make([]time.Duration, keys)
	part := keys / cores
	var wg sync.WaitGroup
	for c := range cores {
		wg.Go(func() {
			epoch := time.Now()
			for i := c * part; i < (c+1)*part; i++ {
				start := time.Since(epoch)
				rig.Decide(t.At(i))
				times[i] = time.Since(epoch) - start - clock
			}
		})
	}
	wg.Wait()
	times = times[:part*cores]
	slices.Sort(times)
	at := func(q float64) time.Duration { return times[int(q*float64(len(times)-1))] }
	return Storm{Median: at(0.5), P99: at(0.99), P999: at(0.999), Max: at(1), Decisions: len(times)}
}

// clockCost is the median time between two readings of the clock.
func clockCost() time.Duration {
	epoch := time.Now()
	times := make([]time.Duration, 10001)
	for i := range times {
		start := time.Since(epoch)
		times[i] = time.Since(epoch) - start
	}
	slices.Sort(times)
	return times[len(times)/2]
}
