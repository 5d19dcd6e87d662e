package drive

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/target"
)

// Inline plays a load against a target that never waits, such as an engine in
// this process: each of so many workers plays a plan of its own and calls the
// target itself, so that what is measured is the target and not goroutines.
// next and sink are called with the worker's number, from that worker only.
// The Request that next fills is the worker's own and is used again.
func Inline(ctx context.Context, workers int, next func(worker int, r *target.Request) bool, to target.Target, sink func(worker int, e *Event)) {
	start := time.Now()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			var r target.Request
			e := Event{Request: &r}
			for n := 0; next(w, &r); n++ {
				if n&0xff == 0 && ctx.Err() != nil {
					return
				}
				waitUntil(ctx, start, r.Due)
				e.Skipped, e.Sent = NotSkipped, time.Since(start)
				if e.Sent-r.Due > TooLate {
					e.Skipped = Behind
				} else {
					e.Result = to.Do(ctx, &r)
					e.Ended = time.Since(start)
				}
				sink(w, &e)
			}
		})
	}
	wg.Wait()
}

// waitUntil returns at the due time: it sleeps while there is time, and yields
// over the last stretch, which is shorter than a sleep can be trusted with.
func waitUntil(ctx context.Context, start time.Time, due time.Duration) {
	for {
		d := due - time.Since(start)
		switch {
		case d <= 0 || ctx.Err() != nil:
			return
		case d > 200*time.Microsecond:
			time.Sleep(min(d-100*time.Microsecond, 50*time.Millisecond))
		default:
			runtime.Gosched()
		}
	}
}
