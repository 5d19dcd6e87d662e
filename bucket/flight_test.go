package bucket_test

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
)

func TestFlightCountsWhatIsOut(t *testing.T) {
	for _, n := range []int64{1, 2, 5, 1<<24 - 2} {
		r, err := bucket.NewFlight(n)
		require.NoError(t, err)
		rnd := rand.New(rand.NewPCG(uint64(n), 12))
		w, count := r.Fresh(3<<56, 0), int64(0)
		life := bucket.Life(w)
		for range 2000 {
			cost := 1 + rnd.Int64N(n)
			next, ok := r.Take(w, 0, cost)
			require.Equal(t, count+cost <= n, ok)
			if w = next; ok {
				count += cost
			} else {
				require.Equal(t, int64(bucket.Never), r.Wait(w, 0, 0, cost))
				w = r.Undo(w, 0, 0, count)
				count = 0
			}
			require.Equal(t, count, bucket.InUse(w))
			require.Equal(t, n-count, r.Left(w, 0))
			require.Equal(t, life, bucket.Life(w))
			require.Equal(t, count == 0, r.Idle(w, 0))
		}
	}
	for _, n := range []int64{0, -1, 1<<24 - 1} {
		_, err := bucket.NewFlight(n)
		require.ErrorContains(t, err, "max ")
	}
}

// heldBucket is a post-paid bucket: a word of holds beside the bucket's.
type heldBucket struct {
	charge, hold bucket.Rule
	bucket, held uint64
}

func newHeld(t testing.TB, p params, now int64) *heldBucket {
	t.Helper()
	r := newToken(t, p.rate, p.per, p.burst)
	h, err := r.HoldFor()
	require.NoError(t, err)
	return &heldBucket{charge: r, hold: h, bucket: r.Fresh(0, r.At(now)), held: h.Fresh(5<<56, 0)}
}

func (h *heldBucket) take(now, estimate int64) bool {
	next, ok := h.hold.TakeHold(h.held, h.bucket, h.hold.At(now), estimate)
	h.held = next
	return ok
}

func (h *heldBucket) settle(now, estimate, actual int64) {
	h.bucket, _ = h.charge.Charge(h.bucket, h.charge.At(now), actual)
	h.held = bucket.ReleaseHold(h.held, estimate)
}

// Estimates are held beside what is owed; a settlement charges what was used.
// Decisions, waits and what is left agree with fractions.
func TestHoldsAgreeWithFractions(t *testing.T) {
	for _, p := range []params{{10, time.Second, 100}, {1, time.Minute, 7}, {1000, time.Second, 1 << 20}} {
		for seed := range uint64(60) {
			rnd := rand.New(rand.NewPCG(seed, 13))
			now := rnd.Int64N(1 << 40)
			h, m := newHeld(t, p, now), newFractions(p.rate, p.per, p.burst)
			m.at = now
			held, out := int64(0), []int64{}
			for range 300 {
				now += step(rnd, p)
				at := h.hold.At(now)
				estimate := 1 + rnd.Int64N(p.burst)
				lacks := m.lacks(now, held+estimate)
				require.Equal(t, max(0, m.left(now)-held), h.hold.LeftHold(h.held, h.bucket, at))
				wait := h.hold.WaitHold(h.held, h.bucket, at, now, estimate)
				if held+estimate > p.burst {
					require.Equal(t, int64(bucket.Never), wait, "what is held does not drain")
				} else {
					require.Equal(t, m.wait(now, held+estimate), wait)
				}
				if rnd.IntN(2) == 0 && len(out) > 0 {
					i := rnd.IntN(len(out))
					estimate, actual := out[i], rnd.Int64N(out[i]+3)
					if new(big.Rat).Add(m.debt, tokens(actual)).Cmp(big.NewRat(p.burst*3, 2)) > 0 {
						actual = 0
					}
					out = append(out[:i], out[i+1:]...)
					before := h.held
					h.settle(now, estimate, actual)
					require.NotEqual(t, before>>40, h.held>>40, "a release advances the sequence")
					require.Equal(t, before>>56, h.held>>56)
					held -= estimate
					m.charge(actual)
					continue
				}
				ok := h.take(now, estimate)
				require.Equal(t, lacks.Sign() <= 0, ok, "%+v seed %d", p, seed)
				if ok {
					held += estimate
					out = append(out, estimate)
				}
				require.Equal(t, held, bucket.Held(h.held))
				require.Equal(t, held == 0, h.hold.Idle(h.held, at))
			}
		}
	}
}

func TestSettledCostMayExceedTheEstimate(t *testing.T) {
	h := newHeld(t, params{10, time.Second, 100}, 0)
	require.True(t, h.take(0, 60))
	require.False(t, h.take(0, 60))
	h.settle(0, 60, 150)
	require.Zero(t, bucket.Held(h.held))
	require.False(t, h.take(0, 1))
	require.EqualValues(t, 5100*time.Millisecond, h.hold.WaitHold(h.held, h.bucket, h.hold.At(0), 0, 1))
	require.False(t, h.take(5100*1e6-1, 1))
	require.True(t, h.take(5100*1e6, 1))
}

// More estimate than is held cannot be released, and a hold has its own bounds.
func TestHoldBounds(t *testing.T) {
	h := newHeld(t, params{1, time.Second, 10}, 0)
	require.True(t, h.take(0, 4))
	h.held = bucket.ReleaseHold(h.held, 9)
	require.Zero(t, bucket.Held(h.held))
	r := newToken(t, 1_000_000_000, time.Second, 1<<40-1)
	_, err := r.HoldFor()
	require.ErrorContains(t, err, "burst 1099511627775")
}
