package bucket_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
)

// log is every charge of one key, the way to count a sliding window exactly.
type log []struct{ at, cost int64 }

func (l log) since(from int64) (sum int64) {
	for i := len(l) - 1; i >= 0 && l[i].at > from; i-- {
		sum += l[i].cost
	}
	return sum
}

func newSliding(t testing.TB, n int64, per time.Duration) bucket.Rule {
	t.Helper()
	r, err := bucket.NewSliding(n, per)
	require.NoError(t, err)
	return r
}

// Never more than n in any interval of the window, and nobody waits more than a
// quarter longer than for that: checked against the log of all charges, over
// many turns of the word's index.
func TestSlidingNeverExceedsAnyInterval(t *testing.T) {
	for _, per := range []int64{4, 40, 41, 43, 1000} {
		sub := (per + 3) / 4
		for seed := range uint64(10) {
			rnd := rand.New(rand.NewPCG(seed, uint64(per)))
			n := 1 + rnd.Int64N(30)
			r := newSliding(t, n, time.Duration(per))
			now := rnd.Int64N(1 << 50)
			w, renewed := r.Fresh(0, r.At(now)), now
			var charges log
			for range 1500 {
				switch rnd.IntN(8) {
				case 0:
					now += rnd.Int64N(3 * per)
				case 1:
					now += rnd.Int64N(int64(r.Span()) + 1)
				case 2, 3, 4:
					now += rnd.Int64N(sub + 1)
				}
				if now-renewed > int64(r.Span()) {
					w, renewed = r.Renew(w, r.At(now)), now
				}
				cost := 1 + rnd.Int64N(n)
				if rnd.IntN(2) == 0 {
					cost = 1
				}
				next, ok := r.Take(w, r.At(now), cost)
				switch {
				case ok:
					charges = append(charges, struct{ at, cost int64 }{now, cost})
					if sum := charges.since(now - per); sum > n {
						t.Fatalf("per %d seed %d: %d in an interval, of %d", per, seed, sum, n)
					}
				case next != w:
					t.Fatalf("a refusal changed the word")
				case charges.since(now-5*sub)+cost <= n:
					t.Fatalf("per %d seed %d: refused at %d, a quarter after the window", per, seed, now)
				default:
					wait := r.Wait(w, r.At(now), now, cost)
					if _, ok := r.Take(w, r.At(now+wait), cost); !ok {
						t.Fatalf("refused after the wait of %d", wait)
					}
					if _, ok := r.Take(w, r.At(now+wait-1), cost); ok || wait > 5*sub {
						t.Fatalf("a wait of %d is too long", wait)
					}
				}
				if left := r.Left(next, r.At(now)); left < 0 || left > n-charges.since(now-per) {
					t.Fatalf("%d left", left)
				}
				w = next
			}
		}
	}
}

// Five in any hour are five in any hour, also across a boundary: what an
// interpolated window would let through.
func TestFiveInAnyHour(t *testing.T) {
	const minute = 60 * second
	k := fresh(newSliding(t, 5, time.Hour), 0)
	require.Equal(t, 5, k.admitted(59*minute, 9))
	require.Zero(t, k.admitted(61*minute, 9))
	require.Zero(t, k.admitted(118*minute, 9))
	require.Zero(t, k.left(118*minute))
	require.Equal(t, 2*time.Minute, k.wait(118*minute, 1))
	require.Equal(t, 5, k.admitted(120*minute, 9), "the sub-window from 45 to 60 is outside at 120 for sure")
}

func TestSlidingDomain(t *testing.T) {
	for _, c := range []struct {
		n    int64
		per  time.Duration
		says string
	}{
		{0, time.Hour, "rate 0"},
		{-1, time.Hour, "rate -1"},
		{512, time.Hour, "rate 512: a sliding window counts to 511; use a token bucket for more"},
		{5, 0, "per 0s"},
		{5, 3, "per 3ns"},
		{5, -time.Second, "per -1s"},
		{5, math.MaxInt64, "per 2562047h"},
	} {
		_, err := bucket.NewSliding(c.n, c.per)
		require.ErrorContains(t, err, c.says)
	}
	k := fresh(newSliding(t, 511, time.Hour), 0)
	require.Equal(t, 511, k.admitted(0, 600))
	require.EqualValues(t, int64(bucket.Never), k.wait(0, 512))
	a, b, c := newSliding(t, 5, time.Hour), newSliding(t, 9, time.Hour), newSliding(t, 5, time.Minute)
	require.True(t, a.SameWindows(&b))
	require.False(t, a.SameWindows(&c))
}

// A request whose clock was read earlier than the word was charged counts in
// the sub-window that the word is in.
func TestSlidingWordsDoNotGoBack(t *testing.T) {
	k := fresh(newSliding(t, 5, 40), 1000)
	require.Equal(t, 4, k.admitted(1011, 4))
	require.Equal(t, 1, k.admitted(1009, 9))
	require.Zero(t, k.admitted(1049, 9))
	require.Zero(t, k.admitted(1059, 9))
	require.Equal(t, 5, k.admitted(1060, 9))
}
