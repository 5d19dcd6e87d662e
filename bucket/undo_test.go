package bucket_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
)

// arrivals is a token bucket's state in plain integers, in units of the clock.
type arrivals struct{ v int64 }

func (a *arrivals) charge(now, units int64) { a.v = max(a.v, now) + units }

func (a *arrivals) debt(now int64) int64 { return max(0, a.v-now) }

// undone is what became of a random history of a token bucket in which some
// requests are undone.
type undone struct {
	debt, without int64 // in the end, and had the undone requests never come
	undos         int
	covered       bool  // each undone request found at least as much debt as dripped in until its undo
	dripped       int64 // sum, over the undone requests, of what dripped in until the undo
}

// undoHistory plays a history with at most open requests at a time that are
// still to be undone.
func undoHistory(t *testing.T, seed uint64, open int) (u undone) {
	rnd := rand.New(rand.NewPCG(seed, 5))
	burst, per := 1+rnd.Int64N(12), 1+rnd.Int64N(3)
	r := newToken(t, 1, time.Duration(per), burst) // per units a token, a unit per ns
	now := rnd.Int64N(1 << 55)
	w := r.Fresh(0, r.At(now))
	without := arrivals{now}
	type commit struct {
		done                 uint64
		cost, at, debtBefore int64
	}
	var out []commit
	u.covered = true
	undo := func(i int) {
		c := out[i]
		out = append(out[:i], out[i+1:]...)
		w = r.Undo(w, r.At(now), c.done, c.cost)
		u.undos++
		u.dripped += now - c.at
		u.covered = u.covered && c.debtBefore >= now-c.at
	}
	for range 2 + rnd.IntN(10) {
		now += rnd.Int64N(2 * per)
		at := r.At(now)
		cost := 1 + rnd.Int64N(burst)
		before := int64(r.Debt(w, at))
		next, ok := r.Take(w, at, cost)
		switch {
		case rnd.IntN(4) == 0 && len(out) > 0:
			undo(rnd.IntN(len(out)))
		case !ok:
		case rnd.IntN(3) == 0 && len(out) < open:
			w, out = next, append(out, commit{next, cost, now, before})
		default:
			w = next
			without.charge(now, cost*per)
		}
	}
	for len(out) > 0 {
		undo(rnd.IntN(len(out)))
	}
	u.debt, u.without = int64(r.Debt(w, r.At(now))), without.debt(now)
	return u
}

// Against the world in which the undone request never came, an undo never gives
// anything; and it gives back all of it when the key owed at least as much
// before the request as has dripped in since.
func TestUndoNeverGivesAndIsExactInDebt(t *testing.T) {
	exact, partial := 0, 0
	for seed := range uint64(30_000) {
		u := undoHistory(t, seed, 1)
		require.GreaterOrEqual(t, u.debt, u.without, "seed %d: a gift", seed)
		switch {
		case u.undos > 0 && u.covered:
			require.Equal(t, u.without, u.debt, "seed %d: not all came back", seed)
			exact++
		case u.debt > u.without:
			partial++
		}
	}
	require.Greater(t, exact, 300)
	require.Greater(t, partial, 300)
}

// When several requests on one key are under way to be undone, one may have been
// laid upon what another takes back before it. Then at most what dripped in
// while they were out is given, and nothing while the key is in debt.
func TestUndosAcrossEachOtherGiveAtMostWhatDrippedIn(t *testing.T) {
	gifts := 0
	for seed := range uint64(30_000) {
		u := undoHistory(t, seed, 4)
		require.LessOrEqual(t, u.without-u.debt, u.dripped, "seed %d", seed)
		if u.undos > 0 && u.dripped == 0 {
			require.Equal(t, u.without, u.debt, "seed %d: undone at the same instant", seed)
		}
		if u.debt < u.without {
			gifts++
		}
	}
	t.Logf("%d of 30000 histories give something", gifts)
	require.Less(t, gifts, 300)
}

func TestUndoOfThreeOfTen(t *testing.T) {
	r := newToken(t, 1, time.Second, 10)
	undo := func(now int64, w, done uint64, cost int64) *oneKey {
		return &oneKey{r, r.Undo(w, r.At(now), done, cost)}
	}

	k := fresh(r, 0)
	require.True(t, k.take(0, 3))
	done := k.w
	require.True(t, k.take(0, 2))
	require.EqualValues(t, 8, undo(0, k.w, done, 3).left(0))

	k = fresh(r, 0)
	require.True(t, k.take(0, 3))
	require.EqualValues(t, 10, undo(5*second, k.w, k.w, 3).left(5*second))

	k = fresh(r, 0)
	require.True(t, k.take(0, 3))
	done = k.w
	require.True(t, k.take(10*second, 1))
	require.EqualValues(t, 9, undo(10*second, k.w, done, 3).left(10*second), "the other's charge is not erased")
}

func TestUndoLosesNothingToRounding(t *testing.T) {
	for _, rate := range []int64{7, 30, 60, 100, 997} {
		r := newToken(t, rate, time.Second, 3)
		k := fresh(r, 12345)
		for range 10_000 {
			require.True(t, k.take(12345, 3))
			k.w = r.Undo(k.w, r.At(12345), k.w, 3)
		}
		require.EqualValues(t, 3, k.left(12345))
		require.True(t, k.take(12345, 3))
	}
}

// A window that has passed takes nothing back into the one that is now.
func TestUndoOfAnEarlierWindowChangesNothing(t *testing.T) {
	q := newQuota(t, 100, bucket.Day, "UTC", 0)
	end := time.Date(2025, 6, 3, 0, 0, 0, 0, time.UTC)
	start := end.Add(-100 * time.Millisecond)
	q.update(0, start)
	k := fresh(q.Rule, 0)
	require.True(t, k.take(0, 60))
	charged := k.w
	require.EqualValues(t, 40, k.left(0))

	next := int64(101 * time.Millisecond)
	require.True(t, k.take(next, 30))
	k.w = q.Undo(k.w, q.At(next), charged, 60)
	require.EqualValues(t, 70, k.left(next))

	// Within its window all of it comes back, and never more than is used.
	k = fresh(q.Rule, next)
	require.True(t, k.take(next, 30))
	require.EqualValues(t, 100, q.Left(q.Undo(k.w, q.At(next), k.w, 30), q.At(next)))
	require.EqualValues(t, 100, q.Left(q.Undo(k.w, q.At(next), k.w, 60), q.At(next)))
}

// A sliding window takes back exactly what is still in sight.
func TestUndoOfASlidingWindow(t *testing.T) {
	for seed := range uint64(5_000) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		n := 1 + rnd.Int64N(20)
		r, err := bucket.NewSliding(n, 40)
		require.NoError(t, err)
		now := rnd.Int64N(1 << 40)
		w, without := r.Fresh(0, r.At(now)), r.Fresh(0, r.At(now))
		type commit struct {
			done uint64
			cost int64
		}
		var out []commit
		for range 20 {
			now += rnd.Int64N(15)
			at := r.At(now)
			cost := 1 + rnd.Int64N(n)
			switch rnd.IntN(3) {
			case 0:
				if next, ok := r.Take(w, at, cost); ok {
					w = next
					out = append(out, commit{w, cost})
				}
			case 1:
				if next, ok := r.Take(w, at, cost); ok {
					w = next
					without, ok = r.Take(without, at, cost)
					require.True(t, ok)
				}
			default:
				for _, c := range out {
					w = r.Undo(w, at, c.done, c.cost)
				}
				out = nil
			}
			if len(out) == 0 {
				require.Equal(t, r.Left(without, at), r.Left(w, at), "seed %d", seed)
			}
		}
	}
}
