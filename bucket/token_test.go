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

// fractions is a token bucket in exact fractions.
type fractions struct {
	rate  *big.Rat // tokens per ns
	burst int64
	debt  *big.Rat // tokens owed at
	at    int64
}

func newFractions(rate int64, per time.Duration, burst int64) *fractions {
	return &fractions{rate: big.NewRat(rate, int64(per)), burst: burst, debt: new(big.Rat)}
}

func tokens(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func (m *fractions) drain(now int64) {
	m.debt.Sub(m.debt, new(big.Rat).Mul(m.rate, tokens(now-m.at)))
	if m.debt.Sign() < 0 {
		m.debt.SetInt64(0)
	}
	m.at = now
}

// lacks is by how many tokens the cost does not fit; 0 or less: it fits.
func (m *fractions) lacks(now, cost int64) *big.Rat {
	m.drain(now)
	return new(big.Rat).Sub(new(big.Rat).Add(m.debt, tokens(cost)), tokens(m.burst))
}

func (m *fractions) charge(cost int64) { m.debt.Add(m.debt, tokens(cost)) }

func (m *fractions) wait(now, cost int64) int64 {
	lacks := m.lacks(now, cost)
	if lacks.Sign() <= 0 {
		return 0
	}
	w := lacks.Quo(lacks, m.rate)
	q, rest := new(big.Int).QuoRem(w.Num(), w.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q.Int64()
}

func (m *fractions) left(now int64) int64 {
	room := m.lacks(now, 0)
	if room.Sign() >= 0 {
		return 0
	}
	room.Neg(room)
	return new(big.Int).Quo(room.Num(), room.Denom()).Int64()
}

func newToken(t testing.TB, rate int64, per time.Duration, burst int64) bucket.Rule {
	t.Helper()
	r, err := bucket.NewToken(rate, per, burst)
	require.NoError(t, err)
	return r
}

// params is a token bucket's parameters.
type params struct {
	rate  int64
	per   time.Duration
	burst int64
}

const days = 24 * time.Hour

// Rates whose clock counts whole units per ns are exact to the nanosecond.
var exactRates = []params{
	{1, time.Second, 5},
	{1, time.Second, 1},
	{10, time.Second, 100},
	{100, time.Second, 1},
	{10, time.Minute, 10},
	{1, time.Hour, 1000},
	{1, 30 * days, 3},
	{2, 3, 7},
	{8, 1, 64},
	{1e9, time.Second, 1},
	{125_000_000, time.Second, 1 << 20},
	{5, 86400 * time.Second, 2},
}

func TestExactRatesAgreeWithFractions(t *testing.T) {
	for _, p := range exactRates {
		for seed := range uint64(10) {
			rnd := rand.New(rand.NewPCG(seed, uint64(p.rate)))
			r, m := newToken(t, p.rate, p.per, p.burst), newFractions(p.rate, p.per, p.burst)
			now := rnd.Int64N(1 << 40)
			w := r.Fresh(0, r.At(now))
			for range 300 {
				now += step(rnd, p)
				at := r.At(now)
				cost := 1 + rnd.Int64N(p.burst)
				lacks := m.lacks(now, cost)
				require.Equal(t, m.left(now), r.Left(w, at), "%+v seed %d at %d", p, seed, now)
				require.Equal(t, m.wait(now, cost), r.Wait(w, at, now, cost), "%+v seed %d at %d", p, seed, now)
				switch {
				case rnd.IntN(8) == 0 && lacks.Cmp(big.NewRat(p.burst, 2)) <= 0: // a settlement charges whether or not it fits
					next, exact := r.Charge(w, at, cost)
					require.True(t, exact)
					m.charge(cost)
					w = next
				default:
					next, ok := r.Take(w, at, cost)
					require.Equal(t, lacks.Sign() <= 0, ok, "%+v seed %d: cost %d at %d", p, seed, cost, now)
					if ok {
						m.charge(cost)
					} else {
						require.Equal(t, w, next, "a refusal leaves the word alone")
					}
					w = next
				}
				require.Equal(t, m.debt.Sign() == 0, r.Idle(w, at))
			}
		}
	}
}

// step is a time to let pass: often none, a few ns, about a token's worth, now
// and then long enough to fill the bucket.
func step(rnd *rand.Rand, p params) int64 {
	token := max(1, int64(p.per)/p.rate)
	switch rnd.IntN(6) {
	case 0:
		return 0
	case 1:
		return rnd.Int64N(4)
	case 2:
		return rnd.Int64N(2*token + 1)
	case 3:
		return token
	case 4:
		return token - 1
	}
	return rnd.Int64N(min(2*token*p.burst, 1<<50) + 1)
}

// Other rates are off by at most a millionth of what has dripped in and a unit
// of rounding.
func TestOtherRatesAgreeWithFractionsToAMillionth(t *testing.T) {
	for _, p := range []params{
		{65535, time.Second, 65535},
		{997, time.Second, 3},
		{60, time.Second, 3},
		{1_000_000_001, time.Second, 1},
		{10_000_000, time.Second, 1000},
		{7, 13 * time.Millisecond, 1 << 30},
		{999_999_937, 999_999_893, 17},
		{123_457, 7 * days, 1 << 20},
	} {
		for seed := range uint64(20) {
			rnd := rand.New(rand.NewPCG(seed, uint64(p.rate)))
			r, m := newToken(t, p.rate, p.per, p.burst), newFractions(p.rate, p.per, p.burst)
			unit := new(big.Rat).SetFrac64(1, int64(r.Unit()))
			begin := rnd.Int64N(1 << 40)
			now := begin
			w := r.Fresh(0, r.At(now))
			m.at = now
			for range 500 {
				now += step(rnd, p)
				at := r.At(now)
				cost := 1 + rnd.Int64N(p.burst)
				lacks := m.lacks(now, cost)
				slack := new(big.Rat).Mul(m.rate, tokens(now-begin))
				slack.Mul(slack, big.NewRat(1, 1e6)).Add(slack, unit).Add(slack, unit)
				next, ok := r.Take(w, at, cost)
				if new(big.Rat).Abs(lacks).Cmp(slack) > 0 {
					require.Equal(t, lacks.Sign() <= 0, ok, "%+v seed %d: cost %d at %d", p, seed, cost, now)
				}
				if w = next; ok {
					m.charge(cost)
				}
			}
		}
	}
}

// A caller who always takes the next token the moment it is there gets the rate,
// from a token a month to 10 million a second: within 0.1 %, and but for a bucket
// of one token, which cannot keep the parts of a nanosecond, within 2e-6.
func TestLongRunRate(t *testing.T) {
	for _, p := range []params{
		{1, 30 * days, 1},
		{1, 7 * days, 4},
		{3, days, 10},
		{1000, days, 10},
		{10, time.Minute, 10},
		{1, time.Second, 1},
		{60, time.Second, 3},
		{997, time.Second, 5},
		{31_623, time.Second, 100},
		{65_535, time.Second, 65_535},
		{1_000_003, time.Second, 1000},
		{9_999_991, time.Second, 1},
		{10_000_000, time.Second, 100},
	} {
		r := newToken(t, p.rate, p.per, p.burst)
		now := int64(0)
		w, ok := r.Take(r.Fresh(0, r.At(0)), r.At(0), p.burst)
		require.True(t, ok)
		n := min(50_000, int64(80*365*days)/(int64(p.per)/p.rate+1))
		for range n {
			now += r.Wait(w, r.At(now), now, 1)
			w, ok = r.Take(w, r.At(now), 1)
			require.True(t, ok)
		}
		want := float64(n) / float64(p.rate) * float64(p.per)
		within := 2e-6
		if p.burst == 1 {
			within = 1e-3
		}
		require.InEpsilon(t, want, float64(now), within, "%+v: %d tokens", p, n)
	}
}

// What Wait says is exact: then the cost fits, a nanosecond before it does not.
func TestWaitIsExact(t *testing.T) {
	all := append([]params{{65535, time.Second, 65535}, {997, time.Second, 3}, {1_000_000_001, time.Second, 5}, {7, 13, 100}}, exactRates...)
	for _, p := range all {
		rnd := rand.New(rand.NewPCG(1, uint64(p.rate)))
		r := newToken(t, p.rate, p.per, p.burst)
		for range 2000 {
			now := rnd.Int64N(1 << 58)
			at := r.At(now)
			w, _ := r.Charge(r.Fresh(0, at), at, rnd.Int64N(2*p.burst+1))
			cost := 1 + rnd.Int64N(p.burst)
			wait := r.Wait(w, at, now, cost)
			if wait == 0 {
				_, ok := r.Take(w, at, cost)
				require.True(t, ok)
				continue
			}
			_, ok := r.Take(w, r.At(now+wait), cost)
			require.True(t, ok, "%+v: refused after the wait of %d", p, wait)
			_, ok = r.Take(w, r.At(now+wait-1), cost)
			require.False(t, ok, "%+v: admitted before the wait of %d", p, wait)
		}
		require.Equal(t, int64(bucket.Never), r.Wait(0, 0, 0, p.burst+1))
		require.Equal(t, int64(bucket.Never), r.Wait(0, 0, 0, math.MaxInt64))
	}
}
