package bucket_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
)

// key is one key's word under a rule.
type oneKey struct {
	r bucket.Rule
	w uint64
}

func fresh(r bucket.Rule, now int64) *oneKey { return &oneKey{r, r.Fresh(0, r.At(now))} }

func (k *oneKey) take(now, cost int64) bool {
	next, ok := k.r.Take(k.w, k.r.At(now), cost)
	k.w = next
	return ok
}

func (k *oneKey) wait(now, cost int64) time.Duration {
	return time.Duration(k.r.Wait(k.w, k.r.At(now), now, cost))
}

func (k *oneKey) left(now int64) int64 { return k.r.Left(k.w, k.r.At(now)) }

// admitted is how many of n takes of cost 1 pass at one instant.
func (k *oneKey) admitted(now int64, n int) (ok int) {
	for range n {
		if k.take(now, 1) {
			ok++
		}
	}
	return ok
}

const second = int64(time.Second)

// A burst of b is b takes at one instant, not one more, and one more after the
// time of one token.
func TestBurstIsExactlyThatMany(t *testing.T) {
	for _, b := range []int64{1, 2, 5, 1000} {
		k := fresh(newToken(t, 1, time.Second, b), 0)
		require.EqualValues(t, b, k.left(0))
		require.EqualValues(t, b, k.admitted(0, int(b)+1))
		require.Equal(t, time.Second, k.wait(0, 1), "one token's time, not the whole bucket's")
		require.Equal(t, time.Duration(b)*time.Second, k.wait(0, b))
		require.Equal(t, 1, k.admitted(second, 10))
	}
}

func TestCostOfAWholeBurstCanBeRetried(t *testing.T) {
	k := fresh(newToken(t, 1, time.Second, 5), 0)
	require.True(t, k.take(0, 5))
	require.False(t, k.take(0, 5))
	require.Equal(t, 5*time.Second, k.wait(0, 5))
	require.False(t, k.take(5*second-1, 5))
	require.Equal(t, time.Nanosecond, k.wait(5*second-1, 5))
	require.True(t, k.take(5*second, 5))
}

func TestFullBucketOfOneIsFullToTheNanosecond(t *testing.T) {
	k := fresh(newToken(t, 1, time.Hour, 1), 0)
	require.True(t, k.take(0, 1))
	require.False(t, k.take(1979657712172, 1))
	require.False(t, k.take(int64(time.Hour)-1, 1))
	k2 := *k
	require.True(t, k2.take(int64(time.Hour), 1))
	require.True(t, k.take(10*int64(time.Hour), 1))
}

func TestTokensFasterThanANanosecondCountExactly(t *testing.T) {
	k := fresh(newToken(t, 65535, time.Second, 65535), 0)
	for now := int64(0); now <= 2*second; now += second / 10 {
		require.True(t, k.take(now, 1))
		require.EqualValues(t, 65534, k.left(now))
	}

	k = fresh(newToken(t, 65535, time.Second, 65535), 0)
	sum := int64(0)
	for now := int64(0); now <= 60*second; now += second / 1000 {
		n := k.left(now)
		require.True(t, k.take(now, n))
		require.False(t, k.take(now, 1))
		sum += n
	}
	require.EqualValues(t, 65535*61, sum)

	require.Equal(t, 1, fresh(newToken(t, 1_000_000_001, time.Second, 1), 0).admitted(0, 1000))
}

func TestBucketIsNotAWindow(t *testing.T) {
	k := fresh(newToken(t, 10, time.Minute, 10), 0)
	sum := 0
	for now := int64(0); now < 60*second; now += second / 10 {
		sum += k.admitted(now, 1)
	}
	require.Equal(t, 19, sum)
}

// After one long idle gap a bucket limits as before it.
func TestIdleGapEarnsOneBurstOnce(t *testing.T) {
	k := fresh(newToken(t, 1, time.Second, 2), 0)
	require.True(t, k.take(0, 1))
	require.Equal(t, 2, k.admitted(4*second, 100))
	for s := int64(5); s <= 20; s++ {
		require.Equal(t, 1, k.admitted(s*second, 100))
	}
}

// No word and no instant means "never used": the first instant, and the last,
// are like any other.
func TestNoInstantIsSpecial(t *testing.T) {
	r := newToken(t, 1, time.Second, 1)
	for _, now := range []int64{0, 1, second, 1<<55 - 1, 1 << 55, 1<<56 - 1, 1 << 56, math.MaxInt64 - 1, math.MaxInt64} {
		k := fresh(r, now)
		require.Equal(t, 1, k.admitted(now, 2), "at %d", now)
		require.Equal(t, time.Second, k.wait(now, 1), "at %d", now)
	}
}

// Thirty years of uptime, with words renewed as often as Span asks for.
func TestThirtyYearsOfUptime(t *testing.T) {
	for _, p := range []params{
		{1, time.Second, 1},
		{8, 1, 1},
		{65535, time.Second, 65535},
		{10_000_000, time.Second, 100},
		{1, 30 * days, 6},
	} {
		r := newToken(t, p.rate, p.per, p.burst)
		idle, busy, used := fresh(r, 0), fresh(r, 0), int64(0)
		require.True(t, idle.take(0, p.burst))
		span := int64(r.Span())
		require.Greater(t, span, int64(24*time.Hour))
		last := int64(0)
		for now := int64(0); now < int64(30*365*days); now += span {
			idle.w, busy.w = r.Renew(idle.w, r.At(now)), r.Renew(busy.w, r.At(now))
			n := busy.left(now)
			require.True(t, busy.take(now, n))
			require.False(t, busy.take(now, 1))
			used += n
			last = now
		}
		require.EqualValues(t, p.burst, idle.left(last), "%+v", p)
		require.True(t, idle.take(last, p.burst))
		require.False(t, idle.take(last, 1))
		if p.per > days { // a bucket that never filled up has given its rate
			require.InDelta(t, float64(p.burst)+float64(last)/float64(p.per), used, 2)
		}
	}
}

// What a rule takes, and the words in which it says no.
func TestWhatATokenBucketCannotCount(t *testing.T) {
	for _, c := range []struct {
		params
		says string
	}{
		{params{0, time.Second, 5}, "rate 0: must be at least 1; to let nothing pass use kind block, to let everything pass use kind unlimited"},
		{params{-1, time.Second, 5}, "rate -1"},
		{params{math.MinInt64, time.Second, 5}, "rate -9223372036854775808"},
		{params{1, 0, 5}, "per 0s"},
		{params{1, -time.Second, 5}, "per -1s"},
		{params{100, time.Second, 0}, "burst 0"},
		{params{1, time.Second, -5}, "burst -5"},
		{params{1, time.Second, 1<<54 + 1}, "burst 18014398509481985"},
		{params{1, time.Second, math.MaxInt64}, "burst 9223372036854775807"},
		{params{1, 1e9 * time.Second, 1e6}, "takes more than 146 years to fill"},
		{params{9, 1, 1}, "more than 8 tokens per ns"},
		{params{math.MaxInt64, 1, math.MaxInt64}, "burst"},
	} {
		_, err := bucket.NewToken(c.rate, c.per, c.burst)
		require.ErrorContains(t, err, c.says)
	}
}

// Within the domain every bucket counts: what burst says passes at once, and
// the full time of filling, to a millionth, fills it again.
func TestEveryRateInTheDomainCounts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	size := func(bits int) int64 { return 1 + rnd.Int64N(1<<(1+rnd.IntN(bits))) }
	loaded := 0
	for range 20_000 {
		p := params{size(62), time.Duration(size(62)), size(54)}
		fill := new(big.Int).Mul(big.NewInt(p.burst), big.NewInt(int64(p.per)))
		fill.Div(fill, big.NewInt(p.rate))
		r, err := bucket.NewToken(p.rate, p.per, p.burst)
		if p.rate/8 > int64(p.per) || fill.BitLen() > 62 {
			require.Error(t, err, "%+v", p)
			continue
		}
		if err != nil {
			// Only the edges of the domain are not cut to the unit.
			require.True(t, p.rate/8 == int64(p.per) || fill.BitLen() == 62, "%+v: %v", p, err)
			continue
		}
		loaded++
		now := rnd.Int64N(1 << 60)
		k := fresh(r, now)
		require.EqualValues(t, p.burst, k.left(now), "%+v", p)
		require.True(t, k.take(now, p.burst), "%+v", p)
		require.False(t, k.take(now, 1), "%+v", p)
		full := fill.Int64()
		require.InDelta(t, float64(full), float64(k.wait(now, p.burst)), float64(full)*2e-6+2, "%+v", p)
		if full < 1<<61 {
			require.True(t, k.take(now+full+full/500_000+2, p.burst), "%+v", p)
		}
	}
	require.Greater(t, loaded, 1000)
}

// Debt saturates; what saturated owes still, wherever on the ring that is.
func TestSaturatedDebtIsNotForgiven(t *testing.T) {
	r := newToken(t, 1, time.Nanosecond, 10)
	for _, now := range []int64{0, 1 << 55, 1<<55 - 1, 1<<55 + 1, 1<<55 + 2, 1<<56 - 1} {
		at := r.At(now)
		w, exact := r.Charge(r.Fresh(0, at), at, 1<<55-3)
		require.True(t, exact)
		_, ok := r.Take(w, at, 1)
		require.False(t, ok)
		for _, cost := range []int64{2, 1 << 50, math.MaxInt64} {
			next, exact := r.Charge(w, at, cost)
			require.False(t, exact, "a debt of %d and %d", int64(1)<<55-3, cost)
			require.Zero(t, r.Left(next, at))
			require.False(t, r.Idle(next, at))
			_, ok = r.Take(next, at, 1)
			require.False(t, ok)
			require.InDelta(t, float64(int64(1)<<55), float64(r.Wait(next, at, now, 10)), 10)
		}
	}
}
