package bucket_test

import (
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
			require.Zero(t, r.Tokens(0, slack), "rate %d", rate)
		}
	}
}
