package bucket_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
)

// everyKind is a rule of each kind but Hold, which is counted beside a bucket.
func everyKind(t testing.TB) map[string]bucket.Rule {
	t.Helper()
	sliding, err := bucket.NewSliding(511, 40)
	require.NoError(t, err)
	flight, err := bucket.NewFlight(5)
	require.NoError(t, err)
	q := newQuota(t, 7, bucket.Minute, "UTC", 0)
	q.update(0, time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC))
	return map[string]bucket.Rule{
		"token":   newToken(t, 1, time.Nanosecond, 5),
		"large":   newToken(t, 1, time.Nanosecond, 1<<54),
		"quota":   q.Rule,
		"sliding": sliding,
		"flight":  flight,
	}
}

// Whatever step is made from whatever word, the version stays, the reserved
// payload does not come about, and a refusal returns the very same word.
func TestStepsKeepTheVersionAndAvoidTheReservedPayload(t *testing.T) {
	for name, r := range everyKind(t) {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(7, 7))
			check := func(next, w uint64) {
				if next&bucket.Payload == bucket.Frozen || next>>56 != w>>56 {
					t.Helper()
					t.Fatalf("%x became %x", w, next)
				}
			}
			for range 40_000 {
				// Instants and words around the ends of the ring, and anywhere.
				at := rnd.Uint64()
				if rnd.IntN(2) == 0 {
					at = bucket.Payload + uint64(rnd.IntN(16)) - 8
				}
				w := rnd.Uint64()
				switch rnd.IntN(3) {
				case 0:
					w = uint64(rnd.IntN(256))<<56 | (at+uint64(rnd.IntN(20))-10)&bucket.Payload
				case 1:
					w = r.Fresh(w, at)
				}
				if w&bucket.Payload == bucket.Frozen {
					continue // no step is asked about it
				}
				cost := rnd.Int64N(min(r.Max(), 1<<rnd.IntN(50)) + 1)
				next, ok := r.Take(w, at, cost)
				check(next, w)
				if !ok && next != w {
					t.Fatalf("a refusal made %x of %x", next, w)
				} else if ok {
					check(r.Undo(next, at+uint64(rnd.IntN(5)), next, cost), w)
				}
				check(r.Fresh(w, at), w)
				check(r.Renew(w, at), w)
				if r.Kind == bucket.Token || r.Kind == bucket.Quota {
					next, _ = r.Charge(w, at, rnd.Int64N(1<<(1+rnd.IntN(62))))
					check(next, w)
				}
				if r.Kind == bucket.Token {
					check(r.Owing(w, at, rnd.Uint64()>>rnd.IntN(64)), w)
					next, _ = r.TakeUnits(w, at, rnd.Uint64N(r.Full()+1))
					check(next, w)
				}
				if left := r.Left(w, at); left < 0 || left > r.Max() {
					t.Fatalf("%x has %d of %d left", w, left, r.Max())
				}
			}
		})
	}
}

// A word is idle exactly when it says what a key never seen says: an idle one
// decides like a fresh one for ever after, any other has less left.
func TestIdleWordsDecideLikeFreshOnes(t *testing.T) {
	for name, r := range everyKind(t) {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(8, 8))
			idle := 0
			for range 5000 {
				now := rnd.Int64N(1 << 40)
				w := r.Fresh(0, r.At(now))
				for range rnd.IntN(4) {
					w, _ = r.Take(w, r.At(now), rnd.Int64N(min(r.Max(), 8)+1))
					now += rnd.Int64N(20)
				}
				if name == "quota" {
					now += rnd.Int64N(int64(time.Minute))
				}
				at := r.At(now)
				if !r.Idle(w, at) {
					require.False(t, r.Kind == bucket.Token && r.Debt(w, at) == 0)
					if r.Kind != bucket.Token {
						require.Less(t, r.Left(w, at), r.Max())
					}
					continue
				}
				idle++
				f := r.Fresh(w, at)
				for range 10 {
					cost := 1 + rnd.Int64N(min(r.Max(), 8))
					require.Equal(t, r.Wait(f, at, now, cost), r.Wait(w, at, now, cost))
					var okF, okW bool
					f, okF = r.Take(f, at, cost)
					w, okW = r.Take(w, at, cost)
					require.Equal(t, okF, okW)
					require.Equal(t, r.Left(f, at), r.Left(w, at))
					now += rnd.Int64N(10)
					at = r.At(now)
				}
			}
			require.Greater(t, idle, 250)
		})
	}
}

// The last unit of debt counts: one nanosecond before a bucket is full it is
// not idle.
func TestTheLastUnitOfDebtCounts(t *testing.T) {
	r := newToken(t, 1, time.Second, 1)
	k := fresh(r, 0)
	require.True(t, k.take(0, 1))
	require.False(t, r.Idle(k.w, r.At(second-1)))
	require.True(t, r.Idle(k.w, r.At(second)))
}

// Renewing at any moment, as a sweep does, changes no decision.
func TestRenewingChangesNothing(t *testing.T) {
	for name, r := range everyKind(t) {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(200) {
				rnd := rand.New(rand.NewPCG(seed, 9))
				now := rnd.Int64N(1 << 50)
				a := r.Fresh(0, r.At(now))
				b := a
				span := min(int64(r.Span()), 1<<52)
				for range 50 {
					d := rnd.Int64N(30)
					if rnd.IntN(4) == 0 {
						d = rnd.Int64N(span)
					}
					now += d
					at := r.At(now)
					b = r.Renew(b, at)
					cost := 1 + rnd.Int64N(min(r.Max(), 4))
					var okA, okB bool
					a, okA = r.Take(a, at, cost)
					b, okB = r.Take(b, at, cost)
					require.Equal(t, okA, okB, "seed %d", seed)
					require.Equal(t, r.Left(a, at), r.Left(b, at))
				}
			}
		})
	}
}

// Births follow one another in a slot: the generation of what is in flight and
// the sequence of holds go on.
func TestBirthsAdvanceTheGeneration(t *testing.T) {
	flight, err := bucket.NewFlight(3)
	require.NoError(t, err)
	w := uint64(9) << 56
	for range 1000 {
		w, _ = flight.Take(w, 0, 2)
		next := flight.Fresh(w, 0)
		require.NotEqual(t, bucket.Life(w), bucket.Life(next))
		require.Zero(t, bucket.InUse(next))
		require.Equal(t, w>>56, next>>56)
		w = next
	}
	require.NotEqual(t, uint64(bucket.Frozen), flight.Fresh(w|bucket.Payload, 0)&bucket.Payload)
}
