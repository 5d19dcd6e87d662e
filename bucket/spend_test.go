package bucket_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
)

// spending compares a Spend with the Take that it stands for.
func spending(t *testing.T, r *bucket.Rule, w, at uint64, cost int64) {
	t.Helper()
	next, ok := r.Take(w, at, cost)
	s := r.Spender()
	spent, room := s.Spend(w, at<<8, uint64(cost))
	if short := r.ShortToken(w, at, uint64(cost)); !ok && room != -int64(short<<8) || ok && (room < 0 || spent != next) {
		t.Fatalf("%x at %x for %d: %x, %d, not %x, %v, lacking %d", w, at, cost, spent, room, next, ok, short)
	}
	// At 0 it may have stepped over the reserved payload; then it owes a unit more.
	if ok && next&bucket.Payload != 0 && r.SpentLeft(room, 0) != r.Left(next, at) {
		t.Fatalf("%x at %x for %d: %d left, not %d", w, at, cost, r.SpentLeft(room, 0), r.Left(next, at))
	}
	if inUnits, same := s.SpendUnits(w, at<<8, uint64(cost)*r.Unit()); same != room || ok && inUnits != next {
		t.Fatalf("%x at %x for %d, in units: %x, %d, not %x, %d", w, at, cost, inUnits, same, next, room)
	}
}

// Spending is taking, and says what is left, of any word at any instant: in debt by
// any amount, idle for any part of the ring, and where the end of the ring or the
// reserved payload is passed. No cost up to the largest is charged wrongly.
func TestSpendingIsTaking(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	const payload, half = bucket.Payload, 1 << 55
	var rules []bucket.Rule
	add := func(rate int64, per time.Duration, burst int64) {
		r, err := bucket.NewToken(rate, per, burst)
		require.NoError(t, err)
		rules = append(rules, r)
	}
	add(1, 1, 1)
	add(1, 1, 1<<54)
	add(8, 1, 1<<51)
	add(1, 1<<62, 1)
	add(65535, time.Second, 65535)
	for range 35 {
		add(1+rnd.Int64N(1000), time.Duration(1+rnd.Int64N(1e9)), 1+rnd.Int64N(1000))
	}
	for i := range rules {
		r := &rules[i]
		amount := func() uint64 { // in units: any up to half the ring, a bucketful, a few
			return rnd.Uint64N([]uint64{half, 2*r.Full() + 2, 4}[rnd.IntN(3)])
		}
		for range 2000 {
			at := rnd.Uint64() & payload
			if rnd.IntN(2) == 0 { // near an end of the ring
				before := amount()
				at = (amount() - before) & payload
			}
			cost := 1 + rnd.Int64N(r.Max())
			if rnd.IntN(8) == 0 {
				cost = r.Max()
			}
			version := rnd.Uint64() &^ payload
			for _, w := range []uint64{at + amount(), at - amount(), at + half - 1, at + half, at, rnd.Uint64()} {
				if w &= payload; w != bucket.Frozen { // that belongs to nobody, and is left alone
					spending(t, r, version|w, at, cost)
				}
			}
			// Charges that end at the reserved payload, or beside it.
			for _, end := range []uint64{bucket.Frozen - 1, bucket.Frozen, 0} {
				if w := (end - uint64(cost)*r.Unit()) & payload; w != bucket.Frozen {
					spending(t, r, version|w, w, cost)
					spending(t, r, version|w, (w-min(amount(), r.Full()))&payload, cost)
				}
			}
		}
	}
}

// Charges in parts of a token are those that TakeUnits makes; nothing, and more than
// a full bucket, is none.
func TestSpendingInUnits(t *testing.T) {
	r, err := bucket.NewToken(3, 7*time.Nanosecond, 10)
	require.NoError(t, err)
	s := r.Spender()
	rnd := rand.New(rand.NewPCG(2, 2))
	for range 20_000 {
		at, units := rnd.Uint64N(1<<50), 1+rnd.Uint64N(r.Full())
		w := 5<<56 | at + rnd.Uint64N(2*r.Full()) - r.Full()/2
		next, ok := r.TakeUnits(w, at, units)
		spent, room := s.SpendUnits(w, at<<8, units)
		require.Equal(t, ok, room >= 0)
		if ok {
			require.Equal(t, next, spent)
			require.Equal(t, r.Full()-r.Debt(next, at), uint64(room)>>8)
		}
	}
	for _, units := range []uint64{0, r.Full() + 1, 1 << 55, 1 << 56, 1<<64 - 1} {
		_, room := s.SpendUnits(100, 100<<8, units)
		require.Negative(t, room, "%d", units)
	}
}

// On the way, a charge never becomes the reserved payload, and is never cheaper.
func TestSpendingStepsOverTheReservedPayload(t *testing.T) {
	r, err := bucket.NewToken(1, time.Nanosecond, 10)
	require.NoError(t, err)
	s := r.Spender()
	at := uint64(bucket.Frozen - 3)
	next, room := s.Spend(7<<56|at, at<<8, 3)
	require.EqualValues(t, 7, room>>8)
	require.Equal(t, uint64(7<<56), next, "past the reserved payload, in the same version")
	require.EqualValues(t, 6, r.Left(next, at), "a unit dearer")
}

// A clock in a bucket's units goes on through the end of the ring.
func TestSpendersTimeWraps(t *testing.T) {
	r, err := bucket.NewToken(8, time.Nanosecond, 1<<20)
	require.NoError(t, err)
	const turn = 1 << 53 // ns in which 8 units per ns go once round
	require.Equal(t, r.SpendAt(5), r.SpendAt(turn+5))
	require.EqualValues(t, 8<<8, r.SpendAt(turn)-r.SpendAt(turn-1))
	s := r.Spender()
	w, room := s.Spend(r.SpendAt(turn-1)>>8, r.SpendAt(turn-1), 20)
	require.EqualValues(t, 1<<20-20, r.SpentLeft(room, 0))
	_, room = s.Spend(w, r.SpendAt(turn), 1)
	require.EqualValues(t, 1<<20-13, r.SpentLeft(room, 0))
}
