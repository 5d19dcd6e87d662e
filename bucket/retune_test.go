package bucket_test

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
)

func retune(t testing.TB, r *bucket.Rule, p params, now int64) bucket.Rule {
	t.Helper()
	next, ok, err := r.Retune(p.rate, p.per, p.burst, now)
	require.NoError(t, err)
	require.True(t, ok)
	return next
}

// What a key owes is tokens, not time: drained at 10/s, it has the next token
// 10 ms after the change to 100/s, not when 10/s would have filled it.
func TestChangedRateKeepsTheDebtInTokens(t *testing.T) {
	k := fresh(newToken(t, 10, time.Second, 100), 0)
	require.True(t, k.take(0, 100))
	k.r = retune(t, &k.r, params{100, time.Second, 100}, 0)
	require.Zero(t, k.left(0))
	require.False(t, k.take(10_000_000-1, 1))
	require.True(t, k.take(10_000_000, 1))
}

func TestLoweredBurstCountsAtOnce(t *testing.T) {
	k := fresh(newToken(t, 100, time.Second, 100), 0)
	now := 5 * second
	k.r = retune(t, &k.r, params{1, time.Second, 10}, now)
	require.EqualValues(t, 10, k.left(now))
	require.Equal(t, 10, k.admitted(now, 20))
	require.Equal(t, time.Second, k.wait(now, 1))

	k = fresh(newToken(t, 100, time.Minute, 100), 0)
	require.True(t, k.take(0, 1))
	k.r = retune(t, &k.r, params{10, time.Minute, 10}, 0)
	require.LessOrEqual(t, k.left(second), int64(9))
	require.Equal(t, 9, k.admitted(second, 10))
}

func TestIdenticalRuleTouchesNothing(t *testing.T) {
	r := newToken(t, 1, time.Second, 5)
	for now := int64(0); now < second; now += second / 1000 {
		next := retune(t, &r, params{2, 2 * time.Second, 5}, now) // the same rate in other words
		require.Equal(t, r, next)
	}
}

// Any sequence of changed rates agrees with fractions, but for one unit of the
// clock per change.
func TestChangedRatesAgreeWithFractions(t *testing.T) {
	rates := []params{{1, time.Second, 5}, {10, time.Second, 100}, {100, time.Second, 1}, {997, time.Second, 30}, {10, time.Minute, 10}, {65535, time.Second, 1000}, {1, time.Minute, 3}}
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		p := rates[rnd.IntN(len(rates))]
		r, m := newToken(t, p.rate, p.per, p.burst), newFractions(p.rate, p.per, p.burst)
		unit := new(big.Rat).SetFrac64(1, int64(r.Unit()))
		slack := new(big.Rat).Set(unit)
		now := rnd.Int64N(1 << 40)
		w := r.Fresh(0, r.At(now))
		m.at = now
		for range 300 {
			d := step(rnd, p)
			now += d
			m.drain(now)
			slack.Add(slack, new(big.Rat).Mul(m.rate, big.NewRat(d, 1e6)))
			if rnd.IntN(10) == 0 {
				p = rates[rnd.IntN(len(rates))]
				next, ok, err := r.Retune(p.rate, p.per, p.burst, now)
				require.NoError(t, err)
				if !ok { // starts afresh
					next = newToken(t, p.rate, p.per, p.burst)
					w = next.Fresh(w, next.At(now))
					m.debt.SetInt64(0)
					unit.SetFrac64(1, int64(next.Unit()))
					slack.Set(unit)
				}
				r = next
				m.rate, m.burst = big.NewRat(p.rate, int64(p.per)), p.burst
				slack.Add(slack, unit)
			}
			cost := 1 + rnd.Int64N(p.burst)
			lacks := m.lacks(now, cost)
			next, ok := r.Take(w, r.At(now), cost)
			if new(big.Rat).Abs(lacks).Cmp(slack) > 0 {
				require.Equal(t, lacks.Sign() <= 0, ok, "seed %d: %+v cost %d at %d", seed, p, cost, now)
			}
			if w = next; ok {
				m.charge(cost)
			}
		}
	}
}

// A request that read the time before the clock was bent meets the clock as it
// was at the bend.
func TestEarlierTimesThanTheBendCountAsTheBend(t *testing.T) {
	r := newToken(t, 1, time.Second, 5)
	next := retune(t, &r, params{100, time.Second, 5}, 10*second)
	require.Equal(t, r.At(10*second), next.At(10*second))
	require.Equal(t, next.At(10*second), next.At(10*second-1))
	require.Equal(t, next.At(10*second), next.At(0))
}

// Some changes cannot be counted in the units that are out there.
func TestChangeOutOfTheUnitsRangeStartsAfresh(t *testing.T) {
	r := newToken(t, 1, 30*days, 3)
	_, ok, err := r.Retune(1_000_000, time.Second, 3, 0)
	require.NoError(t, err)
	require.False(t, ok, "a slope of more than 2^10 units per ns")
	_, ok, err = r.Retune(1, 30*days, 50, 0)
	require.NoError(t, err)
	require.False(t, ok, "a full bucket of more than 2^54 units")
	fast := newToken(t, 10_000_000, time.Second, 1)
	_, ok, err = fast.Retune(1, 30*days, 1, 0)
	require.NoError(t, err)
	require.False(t, ok, "a slope of less than 2^-12 units per ns")
	_, _, err = r.Retune(0, time.Second, 1, 0)
	require.ErrorContains(t, err, "rate 0")
	_, ok, err = r.Retune(1, time.Hour, 3, 0)
	require.NoError(t, err)
	require.True(t, ok)
}
