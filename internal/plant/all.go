package plant

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// All does the runs on all processors and returns their results in the same
// order, or ctx's error once it ends; a run that has begun is finished first.
func All(ctx context.Context, runs []Run) ([]Result, error) {
	results := make([]Result, len(runs))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(runs)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(runs) {
					return
				}
				results[i] = runs[i].Do()
			}
		})
	}
	wg.Wait()
	return results, ctx.Err()
}

// Seeds returns the run for n seeds from the first on.
func Seeds(r Run, first uint64, n int) []Run {
	runs := make([]Run, n)
	for i := range runs {
		runs[i] = r
		runs[i].Seed = first + uint64(i)
	}
	return runs
}
