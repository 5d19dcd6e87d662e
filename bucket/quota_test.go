package bucket_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
)

// quota is a rule with its calendar.
type quota struct {
	bucket.Rule
	cal *bucket.Calendar
}

func newQuota(t testing.TB, n int64, w bucket.Window, zone string, reset time.Duration) quota {
	t.Helper()
	loc, err := time.LoadLocation(zone)
	require.NoError(t, err)
	cal := bucket.NewCalendar(w, loc, reset)
	r, err := bucket.NewQuota(n, cal)
	require.NoError(t, err)
	return quota{r, cal}
}

func (q quota) update(now int64, wall time.Time) { q.cal.Update(now, wall) }

func TestQuotaDomain(t *testing.T) {
	_, err := bucket.NewQuota(0, nil)
	require.ErrorContains(t, err, "rate 0: must be at least 1; to let nothing pass use kind block")
	_, err = bucket.NewQuota(-3, nil)
	require.ErrorContains(t, err, "rate -3")
	_, err = bucket.NewQuota(1<<40-1, nil)
	require.ErrorContains(t, err, "rate 1099511627775")
	_, err = bucket.NewQuota(1<<40-2, nil)
	require.NoError(t, err)
}

// Random use over a year of steps agrees with a count per window kept in a map.
func TestQuotaAgreesWithCountsPerWindow(t *testing.T) {
	for _, c := range []struct {
		window bucket.Window
		name   func(time.Time) string
		step   time.Duration
	}{
		{bucket.Minute, func(t time.Time) string { return t.Format("2006-01-02 15:04") }, 40 * time.Second},
		{bucket.Hour, func(t time.Time) string { return t.Format("2006-01-02 15 -0700") }, 40 * time.Minute},
		{bucket.Day, func(t time.Time) string { return t.Format("2006-01-02") }, 11 * time.Hour},
		{bucket.Month, func(t time.Time) string { return t.Format("2006-01") }, 300 * time.Hour},
	} {
		for _, zone := range []string{"UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"} {
			if zone == "Australia/Lord_Howe" && c.window == bucket.Hour {
				continue // its clocks move by half an hour: see the calendar's own test
			}
			loc, err := time.LoadLocation(zone)
			require.NoError(t, err)
			rnd := rand.New(rand.NewPCG(uint64(c.window), 10))
			q := newQuota(t, 100, c.window, zone, 0)
			start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
			now := int64(0)
			q.update(0, start)
			k := fresh(q.Rule, 0)
			used, current := int64(0), ""
			for range 2000 {
				now += rnd.Int64N(int64(c.step))
				wall := start.Add(time.Duration(now))
				if name := c.name(wall.In(loc)); name != current {
					used, current = 0, name
				}
				if rnd.IntN(3) > 0 { // the sweep now and then; the windows worked out ahead do without
					q.update(now, wall)
				}
				require.Equal(t, max(0, 100-used), k.left(now), "%v %s at %v", c.window, zone, wall)
				cost := 1 + rnd.Int64N(60)
				if rnd.IntN(10) == 0 {
					k.w, _ = q.Charge(k.w, q.At(now), cost)
					used += cost
					continue
				}
				ok := k.take(now, cost)
				require.Equal(t, used+cost <= 100, ok)
				if ok {
					used += cost
					continue
				}
				// Exact: at the wait the next window is there, a nanosecond before not.
				wait := k.wait(now, cost)
				require.NotEqual(t, c.name(wall.In(loc)), c.name(wall.Add(wait).In(loc)))
				require.Equal(t, c.name(wall.In(loc)), c.name(wall.Add(wait-1).In(loc)))
				later, before := *k, *k
				require.True(t, later.take(now+int64(wait), cost))
				require.False(t, before.take(now+int64(wait)-1, cost))
			}
		}
	}
}

func TestQuotaChargeSaturates(t *testing.T) {
	q := newQuota(t, 10, bucket.Day, "UTC", 0)
	q.update(0, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))
	w, exact := q.Charge(q.Fresh(0, q.At(0)), q.At(0), 1<<40-2)
	require.True(t, exact)
	require.Zero(t, q.Left(w, q.At(0)))
	next, exact := q.Charge(w, q.At(0), 1)
	require.False(t, exact)
	require.Equal(t, w, next)
	w, exact = q.Charge(q.Fresh(0, q.At(0)), q.At(0), math.MaxInt64)
	require.False(t, exact)
	_, ok := q.Take(w, q.At(0), 1)
	require.False(t, ok)
}

// A request whose clock was read before the window ended charges the window that
// the word is in by then.
func TestALateRequestDoesNotReopenAWindow(t *testing.T) {
	q := newQuota(t, 5, bucket.Minute, "UTC", 0)
	q.update(0, time.Date(2025, 1, 1, 0, 0, 59, 0, time.UTC))
	k := fresh(q.Rule, 0)
	require.True(t, k.take(0, 5))
	require.True(t, k.take(second, 4))
	require.True(t, k.take(second-1, 1), "in the new window, although the clock is behind")
	require.False(t, k.take(second-1, 1))
	require.False(t, k.take(second, 1))
}
