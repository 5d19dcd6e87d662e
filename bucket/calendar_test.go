package bucket_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
)

// spent is a quota of 1 that is spent at the local time, with the wait for its
// next window.
func spent(t *testing.T, w bucket.Window, zone string, reset time.Duration, local string) (time.Time, time.Duration) {
	t.Helper()
	q := newQuota(t, 1, w, zone, reset)
	loc, err := time.LoadLocation(zone)
	require.NoError(t, err)
	wall, err := time.ParseInLocation("2006-01-02 15:04:05", local, loc)
	require.NoError(t, err)
	q.update(0, wall)
	k := fresh(q.Rule, 0)
	require.True(t, k.take(0, 1))
	wait := k.wait(0, 1)
	return wall.Add(wait), wait
}

func TestDaysEndWhereTheZoneSays(t *testing.T) {
	const ny, sydney = "America/New_York", "Australia/Sydney"
	for _, c := range []struct {
		window bucket.Window
		zone   string
		reset  time.Duration
		at     string
		next   string
		wait   time.Duration
	}{
		{bucket.Day, "UTC", 0, "2025-06-02 12:00:00", "2025-06-03 00:00:00", 12 * time.Hour},
		{bucket.Day, ny, 0, "2025-03-09 00:00:00", "2025-03-10 00:00:00", 82800 * time.Second},
		{bucket.Day, ny, 0, "2025-11-02 00:00:00", "2025-11-03 00:00:00", 90000 * time.Second},
		{bucket.Day, ny, 0, "2025-03-08 23:59:59", "2025-03-09 00:00:00", time.Second},
		// 02:30 does not exist that day: the window begins when the clocks have skipped it.
		{bucket.Day, ny, 150 * time.Minute, "2025-03-09 00:00:00", "2025-03-09 03:00:00", 2 * time.Hour},
		{bucket.Day, ny, 150 * time.Minute, "2025-03-09 03:00:00", "2025-03-10 02:30:00", 23*time.Hour + 30*time.Minute},
		{bucket.Day, ny, 150 * time.Minute, "2025-03-08 12:00:00", "2025-03-09 03:00:00", 14 * time.Hour},
		{bucket.Day, sydney, 150 * time.Minute, "2025-10-05 01:00:00", "2025-10-05 03:00:00", time.Hour},
		{bucket.Day, ny, 23*time.Hour + 59*time.Minute, "2025-06-02 23:58:00", "2025-06-02 23:59:00", time.Minute},
		{bucket.Month, "UTC", 0, "2025-02-28 00:00:00", "2025-03-01 00:00:00", 24 * time.Hour},
		{bucket.Month, "UTC", 0, "2024-02-28 00:00:00", "2024-03-01 00:00:00", 48 * time.Hour},
		{bucket.Month, ny, 9 * time.Hour, "2025-03-01 08:00:00", "2025-03-01 09:00:00", time.Hour},
		{bucket.Month, ny, 0, "2025-12-31 23:00:00", "2026-01-01 00:00:00", time.Hour},
		{bucket.Hour, "Asia/Kolkata", 0, "2025-06-02 12:10:00", "2025-06-02 13:00:00", 50 * time.Minute},
		{bucket.Minute, ny, 0, "2025-06-02 12:10:30", "2025-06-02 12:11:00", 30 * time.Second},
		// A zone that skipped a whole day.
		{bucket.Day, "Pacific/Apia", 0, "2011-12-29 12:00:00", "2011-12-31 00:00:00", 12 * time.Hour},
		{bucket.Day, "Pacific/Apia", 0, "2011-12-31 12:00:00", "2012-01-01 00:00:00", 12 * time.Hour},
	} {
		end, wait := spent(t, c.window, c.zone, c.reset, c.at)
		require.Equal(t, c.wait, wait, "%+v", c)
		require.Equal(t, c.next, end.Format("2006-01-02 15:04:05"), "%+v", c)
	}
}

// Every local day has one window, of the length that the day has between two
// reset times, through all the shifts of all kinds of zones.
func TestEveryDayHasOneWindow(t *testing.T) {
	for _, zone := range []string{"UTC", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Africa/Casablanca", "Asia/Tehran"} {
		for _, reset := range []time.Duration{0, time.Minute, 90 * time.Minute, 150 * time.Minute, 12 * time.Hour, 24*time.Hour - 1} {
			q := newQuota(t, 1, bucket.Day, zone, reset)
			loc, err := time.LoadLocation(zone)
			require.NoError(t, err)
			wall := time.Date(2017, 1, 1, 12, 0, 0, 0, loc)
			begin := wall
			q.update(0, wall)
			k := fresh(q.Rule, 0)
			windows := 0
			for wall.Before(begin.AddDate(3, 0, 0)) {
				now := int64(wall.Sub(begin))
				q.update(now, wall)
				require.True(t, k.take(now, 1), "%s %v at %v", zone, reset, wall)
				require.False(t, k.take(now, 1))
				wait := k.wait(now, 1)
				windows++
				if windows > 1 {
					require.InDelta(t, 24, wait.Hours(), 1, "%s %v at %v", zone, reset, wall)
				}
				wall = wall.Add(wait)
			}
			require.InDelta(t, 3*365, windows, 1, "%s %v", zone, reset)
		}
	}
}

// The windows that are worked out ahead serve while nobody updates the calendar.
func TestEightWindowsAreKnownAhead(t *testing.T) {
	q := newQuota(t, 1, bucket.Minute, "UTC", 0)
	q.update(0, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))
	k := fresh(q.Rule, 0)
	for m := range int64(8) {
		require.True(t, k.take(m*60*second, 1))
		require.False(t, k.take((m+1)*60*second-1, 1))
	}
}

// However the wall clock is set, windows never come back and never begin twice.
func TestStepsOfTheWallClockNeverTurnBack(t *testing.T) {
	for _, window := range []bucket.Window{bucket.Minute, bucket.Hour, bucket.Day, bucket.Month} {
		for seed := range uint64(100) {
			rnd := rand.New(rand.NewPCG(seed, 11))
			q := newQuota(t, 1, window, "America/New_York", 0)
			now, off := int64(0), time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
			q.update(0, off)
			last := q.At(0)
			for range 300 {
				now += rnd.Int64N(int64(40 * time.Second))
				switch rnd.IntN(6) {
				case 0:
					off = off.Add(time.Duration(rnd.Int64N(int64(50*time.Hour))) - 25*time.Hour)
				case 1: // slewed by a little
					off = off.Add(time.Duration(rnd.Int64N(int64(2*time.Second))) - time.Second)
				case 2:
				default:
					q.update(now, off.Add(time.Duration(now)))
				}
				at := q.At(now)
				require.GreaterOrEqual(t, at, last, "%v seed %d", window, seed)
				last = at
			}
		}
	}
}

// A wall clock that is set back prolongs the window; set forward, it opens the
// one it says.
func TestWallClockSetBackAndForward(t *testing.T) {
	q := newQuota(t, 1, bucket.Day, "UTC", 0)
	noon := time.Date(2025, 6, 2, 12, 0, 0, 0, time.UTC)
	q.update(0, noon)
	k := fresh(q.Rule, 0)
	require.True(t, k.take(0, 1))
	q.update(second, noon.Add(-24*time.Hour))
	require.Equal(t, 36*time.Hour, k.wait(second, 1), "until the wall clock passes the end of the window")
	require.False(t, k.take(second, 1))
	q.update(2*second, noon.Add(12*time.Hour))
	require.True(t, k.take(2*second, 1), "the day after")
}

func TestSameCalendars(t *testing.T) {
	a := newQuota(t, 1, bucket.Day, "UTC", 0)
	b := newQuota(t, 9, bucket.Day, "UTC", 0)
	require.True(t, a.SameWindows(&b.Rule))
	for _, o := range []quota{
		newQuota(t, 1, bucket.Month, "UTC", 0),
		newQuota(t, 1, bucket.Day, "Europe/Berlin", 0),
		newQuota(t, 1, bucket.Day, "UTC", time.Hour),
	} {
		require.False(t, a.SameWindows(&o.Rule))
	}
	with := b.With(&a.Rule)
	require.Same(t, a.cal, with.Calendar())
	require.EqualValues(t, 9, with.Max())
}
