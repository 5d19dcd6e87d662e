package bucket_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
)

// What fits already needs no wait, of whatever kind.
func TestWhatFitsNeedsNoWait(t *testing.T) {
	flight, err := bucket.NewFlight(2)
	require.NoError(t, err)
	token, err := bucket.NewToken(1, time.Second, 2)
	require.NoError(t, err)
	sliding, err := bucket.NewSliding(2, time.Minute)
	require.NoError(t, err)
	cal := bucket.NewCalendar(bucket.Hour, time.UTC, 0)
	cal.Update(0, time.Unix(0, 0))
	quota, err := bucket.NewQuota(2, cal)
	require.NoError(t, err)
	for _, r := range []bucket.Rule{flight, token, sliding, quota} {
		const now = int64(time.Second)
		at := r.At(now)
		w := r.Fresh(0, at)
		require.Zero(t, r.Wait(w, at, now, 2))
		require.Equal(t, int64(bucket.Never), r.Wait(w, at, now, 3))
		w, ok := r.Take(w, at, 1)
		require.True(t, ok)
		require.Zero(t, r.Wait(w, at, now, 1))
		require.Positive(t, r.Wait(w, at, now, 2))
	}
}

// Slack is what drips in meanwhile, and never makes a whole token of nothing.
func TestSlackIsAtMostHalfAToken(t *testing.T) {
	flight, err := bucket.NewFlight(2)
	require.NoError(t, err)
	require.Zero(t, flight.Slack(time.Hour))
	for _, rate := range []int64{1, 1000, 1_000_000} {
		token, err := bucket.NewToken(rate, time.Second, 10)
		require.NoError(t, err)
		hold, err := token.HoldFor()
		require.NoError(t, err)
		for _, r := range []bucket.Rule{token, hold} {
			slack := r.Slack(time.Millisecond)
			require.Positive(t, slack)
			require.Zero(t, r.SpentLeft(0, slack), "rate %d", rate)
		}
	}
}

// What fits exactly needs no wait in units either.
func TestUnitsThatFitExactlyNeedNoWait(t *testing.T) {
	r, err := bucket.NewToken(1000, time.Second+7, 3) // its clock stands between two units
	require.NoError(t, err)
	const now = int64(12345)
	at := r.At(now)
	w := r.Fresh(0, at)
	require.Zero(t, r.WaitUnits(w, at, now, r.Full()))
	require.Equal(t, int64(bucket.Never), r.WaitUnits(w, at, now, r.Full()+1))
	w, ok := r.Take(w, at, 2)
	require.True(t, ok)
	for cost := int64(1); cost <= 4; cost++ {
		require.Equal(t, r.Wait(w, at, now, cost), r.WaitUnits(w, at, now, uint64(cost)*r.Unit()))
	}
}

// The slowest bucket and the longest window that can be counted.
func TestTheLongestOfEachKindCount(t *testing.T) {
	_, err := bucket.NewToken(1, 1<<62, 1)
	require.NoError(t, err)
	_, err = bucket.NewSliding(1, math.MaxInt64/8)
	require.NoError(t, err)
	_, err = bucket.NewSliding(1, math.MaxInt64/8+1)
	require.Error(t, err)
}

// Windows before 1970 are numbered like those after it.
func TestWindowsBefore1970(t *testing.T) {
	cal := bucket.NewCalendar(bucket.Minute, time.UTC, 0)
	r, err := bucket.NewQuota(1, cal)
	require.NoError(t, err)
	cal.Update(0, time.Unix(-120, 0))
	first := r.At(0)
	require.Equal(t, first, r.At(int64(time.Minute)-1))
	require.Equal(t, first+1, r.At(int64(time.Minute)))
	cal.Update(int64(time.Minute), time.Unix(-60, 0))
	require.Equal(t, first+1, r.At(int64(time.Minute)))
	cal.Update(int64(2*time.Minute), time.Unix(0, 0))
	require.Equal(t, first+2, r.At(int64(2*time.Minute)))
}

// A month that begins at noon of its first day has not begun that morning.
func TestAMonthBeginsAtItsResetTime(t *testing.T) {
	number := func(wall time.Time) uint64 {
		cal := bucket.NewCalendar(bucket.Month, time.UTC, 12*time.Hour)
		r, err := bucket.NewQuota(1, cal)
		require.NoError(t, err)
		cal.Update(0, wall)
		return r.At(0)
	}
	february := number(time.Date(2025, 2, 15, 0, 0, 0, 0, time.UTC))
	require.Equal(t, february, number(time.Date(2025, 3, 1, 11, 59, 59, 0, time.UTC)))
	require.Equal(t, february+1, number(time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)))
}

// A calendar that nobody has updated for longer than it looks ahead, and whose
// wall clock is then set back, stays in the window it had come to.
func TestACalendarLeftAloneDoesNotTurnBack(t *testing.T) {
	cal := bucket.NewCalendar(bucket.Minute, time.UTC, 0)
	r, err := bucket.NewQuota(1, cal)
	require.NoError(t, err)
	midnight := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	cal.Update(0, midnight)
	first := r.At(0)
	late := int64(8*time.Minute + 30*time.Second)
	require.Equal(t, first+8, r.At(late))
	cal.Update(late, midnight.Add(5*time.Minute))
	require.Equal(t, first+8, r.At(late))
	require.Equal(t, first+8, r.At(late+int64(4*time.Minute)-1))
	require.Equal(t, first+9, r.At(late+int64(4*time.Minute)))
}

// A charge in units is one in tokens at the bucket's own price; nothing, and more than
// a full bucket, never fit.
func TestUnitsAreSpentAsTokensAre(t *testing.T) {
	r, err := bucket.NewToken(3, time.Second, 40)
	require.NoError(t, err)
	s := r.Spender()
	const at = uint64(1) << 50
	for _, w := range []uint64{r.Fresh(9, at), r.Fresh(9, at-1000), 5<<56 | (at+r.Full()/2)&bucket.Payload} {
		for cost := uint64(1); cost <= 40; cost++ {
			next, room := s.Spend(w, at<<8, cost)
			units, left := s.SpendUnits(w, at<<8, cost*r.Unit())
			require.Equal(t, next, units)
			require.Equal(t, room, left)
		}
		for _, units := range []uint64{0, r.Full() + 1, math.MaxUint64} {
			next, room := s.SpendUnits(w, at<<8, units)
			require.Negative(t, room)
			require.Equal(t, w, next)
		}
	}
}
