package drive_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/cmd/loadgen/internal/arrival"
	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
)

// answers is a target that answers with f.
type answers func(ctx context.Context, r *target.Request) target.Result

func (f answers) Do(ctx context.Context, r *target.Request) target.Result { return f(ctx, r) }
func (f answers) Close() error                                            { return nil }

func planned(rate int64, d time.Duration) func() (*target.Request, bool) {
	plan := arrival.Even(arrival.Constant{N: rate, Per: time.Second}, d)
	return func() (*target.Request, bool) {
		due, ok := plan.Next()
		return &target.Request{Due: due, Timeout: time.Minute}, ok
	}
}

type tally struct {
	sent, capped, behind, late int
	ends                       [target.NumEnds]int
}

func (y *tally) add(e drive.Event) {
	switch e.Skipped {
	case drive.AtCap:
		y.capped++
		return
	case drive.Behind:
		y.behind++
		return
	}
	y.sent++
	y.ends[e.Result.End]++
	if e.Late() {
		y.late++
	}
}

func waitTimeout(ctx context.Context, r *target.Request) target.Result {
	timeout := time.NewTimer(r.Timeout)
	defer timeout.Stop()
	select {
	case <-timeout.C:
		return target.Result{End: target.TimedOut}
	case <-ctx.Done():
		return target.Result{End: target.Stopped}
	}
}

func TestATargetThatNeverAnswersHoldsTheCapAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := runtime.NumGoroutine()
		var y tally
		drive.Run(t.Context(), planned(1000, 30*time.Second), answers(waitTimeout), drive.Options{MaxInFlight: 100}, func(e drive.Event) {
			y.add(e)
			require.LessOrEqual(t, runtime.NumGoroutine(), before+110)
		})
		require.Equal(t, tally{sent: 100, capped: 29_900, ends: [target.NumEnds]int{target.TimedOut: 100}}, y)
	})
}

func TestASlowTargetMovesNoRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var worst, service time.Duration
		n := 0
		slow := answers(func(_ context.Context, r *target.Request) target.Result {
			time.Sleep(3 * time.Second)
			return target.Result{}
		})
		drive.Run(t.Context(), planned(50, 2*time.Second), slow, drive.Options{MaxInFlight: 1000}, func(e drive.Event) {
			n++
			worst, service = max(worst, e.Sent-e.Request.Due), max(service, e.Service())
		})
		require.Equal(t, 100, n)
		require.Zero(t, worst)
		require.Equal(t, 3*time.Second, service)
	})
}

// A generator that loses time counts its late requests from when they were
// due, and gives up those that it cannot send in time.
func TestAGeneratorThatFallsBehindSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := planned(100, 10*time.Second)
		n := 0
		stalls := func() (*target.Request, bool) {
			if n++; n == 301 { // due at 3 s
				time.Sleep(5 * time.Second)
			}
			return next()
		}
		var y tally
		var response time.Duration
		drive.Run(t.Context(), stalls, answers(func(context.Context, *target.Request) target.Result { return target.Result{} }),
			drive.Options{MaxInFlight: 1}, func(e drive.Event) {
				y.add(e)
				if e.Skipped == drive.NotSkipped {
					response = max(response, e.Response())
				}
			})
		require.Equal(t, 1000, y.sent+y.capped+y.behind)
		require.InDelta(t, 400, y.behind, 2, "those due more than a second before it went on at 8 s")
		require.InDelta(t, time.Second, response, float64(20*time.Millisecond), "late ones count from when they were due")
		require.Positive(t, y.late+y.capped)
	})
}

func TestStoppingReportsWhatWasDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		time.AfterFunc(2*time.Second+time.Millisecond, stop)
		var y tally
		start := time.Now()
		drive.Run(ctx, planned(10, time.Hour), answers(waitTimeout), drive.Options{MaxInFlight: 1000, Grace: time.Second}, y.add)
		require.Equal(t, 3*time.Second+time.Millisecond, time.Since(start))
		require.Equal(t, tally{sent: 21, ends: [target.NumEnds]int{target.Stopped: 21}}, y)
	})
}
