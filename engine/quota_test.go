package engine_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// quota is a limit of n per calendar window.
func quota(name string, n int64, w engine.Window, zone string, reset time.Duration) engine.Limit {
	return engine.Limit{Name: name, Kind: engine.Quota, Rate: n, Window: w, Zone: zone, ResetAt: reset}
}

// startAt is start at another time of day than noon.
func startAt(t *testing.T, wall time.Time, cfg engine.Config) *fixture {
	t.Helper()
	clock := engine.NewManualClock(wall)
	cfg.Clock, cfg.MaxEntries = clock, 1<<12
	e, err := engine.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return &fixture{e, t, clock}
}

// Many callers at once spend exactly the cap.
func TestDailyCapIsNeverOvershot(t *testing.T) {
	f := start(t, limits(quota("spend", 100_00, engine.Day, "", 0)))
	id, _ := f.Limit("spend")
	var granted atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 10 {
				tk := f.Admit(engine.Request{Class: engine.Write, Claims: []engine.Claim{id.ClaimN(f.Key("acme"), 1_00)}})
				if tk.OK() {
					granted.Add(1_00)
				}
				tk.Done(engine.Success)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 100_00, granted.Load())
	d := f.take("spend", "acme", 1)
	require.Equal(t, engine.Decision{Reason: engine.Limited, Layer: engine.Rate, Limit: 1, RetryAfter: 12 * time.Hour}, d)
}

// A day is as long as the zone says; the refusal's wait is exact.
func TestDaysOfADSTZone(t *testing.T) {
	ny, err := time.LoadLocation("America/New_York")
	require.NoError(t, err)
	for _, c := range []struct {
		begin time.Time
		reset time.Duration
		wait  time.Duration
	}{
		{time.Date(2025, 3, 9, 0, 0, 0, 0, ny), 0, 82800 * time.Second},
		{time.Date(2025, 11, 2, 0, 0, 0, 0, ny), 0, 90000 * time.Second},
		{time.Date(2025, 3, 9, 1, 0, 0, 0, ny), 150 * time.Minute, time.Hour}, // 02:30 is skipped: 03:00
	} {
		f := startAt(t, c.begin, limits(quota("spend", 1, engine.Day, "America/New_York", c.reset)))
		require.True(t, f.take("spend", "u", 1).OK())
		require.Equal(t, c.wait, f.take("spend", "u", 1).RetryAfter)
		f.clock.Advance(c.wait - 1)
		require.EqualValues(t, 1, f.take("spend", "u", 1).RetryAfter)
		f.clock.Advance(1)
		require.True(t, f.take("spend", "u", 1).OK())
	}
}

// The day goes on when the wall clock is set back, and the next one begins when
// it is set forward, or when the machine slept over midnight.
func TestQuotasFollowTheWallClockForwardOnly(t *testing.T) {
	f := start(t, limits(quota("spend", 5, engine.Day, "", 0)))
	require.True(t, f.take("spend", "u", 5).OK())
	f.clock.StepWall(-20 * time.Hour)
	f.clock.Advance(time.Second)
	require.False(t, f.take("spend", "u", 1).OK())
	require.Equal(t, 32*time.Hour-time.Second, f.take("spend", "u", 1).RetryAfter)
	f.clock.StepWall(20 * time.Hour)
	f.clock.Advance(time.Second)
	require.Equal(t, 12*time.Hour-2*time.Second, f.take("spend", "u", 1).RetryAfter)
	f.clock.StepWall(13 * time.Hour) // asleep: no time passed on the monotonic clock
	f.clock.Advance(time.Second)
	require.True(t, f.take("spend", "u", 5).OK())
	f.clock.StepWall(-13 * time.Hour)
	f.clock.Advance(time.Minute)
	require.False(t, f.take("spend", "u", 1).OK(), "no window begins twice")
}

// What is settled later goes back to the window it was charged to, or nowhere.
func TestSettledQuotaReturnsToItsOwnWindow(t *testing.T) {
	cap := quota("spend", 100, engine.Day, "", 0)
	cap.PostPaid = true
	f := startAt(t, time.Date(2025, 6, 2, 23, 59, 59, 900_000_000, time.UTC), limits(cap))
	reserve := func(n int64) *engine.Ticket {
		tk := f.Admit(engine.Request{Class: engine.Write, Claims: []engine.Claim{f.claim("spend", "u", n)}})
		require.True(t, tk.OK())
		return &tk
	}
	id, _ := f.Limit("spend")
	yesterday := reserve(60)
	f.clock.Advance(1100 * time.Millisecond)
	today := reserve(30)
	yesterday.Settle(id, 0)
	require.EqualValues(t, 70, f.left("spend", "u"))
	yesterday.Done(engine.Success)
	require.EqualValues(t, 70, f.left("spend", "u"))

	today.Settle(id, 10)
	require.EqualValues(t, 90, f.left("spend", "u"))
	today.Settle(id, 0) // settled already
	today.Settle(id, -5)
	today.Done(engine.Success)
	require.EqualValues(t, 90, f.left("spend", "u"))
	require.EqualValues(t, 2, f.Snapshot().Misuse.Settle)

	over := reserve(90)
	over.Settle(id, 120) // more than the cap has
	over.Done(engine.Success)
	require.Zero(t, f.left("spend", "u"))
	require.False(t, f.take("spend", "u", 1).OK())
	unsettled := func() { // an estimate that nobody settles is the truth
		tk := f.Admit(engine.Request{Class: engine.Write, Claims: []engine.Claim{f.claim("spend", "v", 40)}})
		tk.Done(engine.Dropped)
	}
	unsettled()
	require.EqualValues(t, 60, f.left("spend", "v"))
}
