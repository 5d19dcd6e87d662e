package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// A retired id keeps its rule until no word of it is left, and is given out
// again only after whole sweeps.
func TestIDsAreUsedAgainOnceNoWordIsLeft(t *testing.T) {
	r := newRoom(t, 1)
	var all []*rule
	for range 255 {
		all = append(all, r.token(1, time.Minute, 1))
	}
	extra, err := bucket.NewToken(1, time.Second, 1)
	require.NoError(t, err)
	free := func() bool {
		id, err := r.Assign(&extra)
		if err != nil {
			require.ErrorIs(t, err, shard.ErrNoID)
			return false
		}
		r.Retire(id)
		return true
	}
	require.False(t, free())

	gone := all[7]
	require.True(t, gone.take(1, 1))
	r.Retire(gone.id)
	for range 5 {
		r.sweepAll()
		require.False(t, free(), "a word of the old rule owes something")
	}
	r.advance(time.Minute)
	r.Sweep(1, r.clock.Now())
	require.False(t, free())
	for sweeps := 0; !free(); sweeps++ {
		require.Less(t, sweeps, 5)
		r.sweepAll()
	}
}

// The words of a retired limit still count by its rule: their slots are not
// taken before they are idle by it.
func TestWordsOfARetiredLimitAreReadByItsRule(t *testing.T) {
	r := newRoom(t, 1)
	old := r.flight(1)
	hs := keys(41, slots)
	var held []*shard.Claim
	for _, h := range hs {
		c, res := old.ask(h, 1, false)
		require.Equal(t, shard.Taken, res)
		held = append(held, c)
	}
	r.Retire(old.id)
	next := r.token(1, time.Hour, 1)
	for range 4 {
		r.sweepAll()
		_, res := next.ask(1, 1, false)
		require.Equal(t, shard.NoRoom, res)
	}
	for _, c := range held {
		require.True(t, r.Release(c.Slot, bucket.Life(c.Word), 1))
	}
	_, res := next.ask(1, 1, false)
	require.Equal(t, shard.Taken, res)
}

// An id that is given out again starts with unused shared words.
func TestSharedWordsStartAfresh(t *testing.T) {
	r := newRoom(t, 1)
	old := r.token(1, time.Second, 1)
	filled(t, r, r.token(1, time.Hour, 1))
	for h := range uint64(8) {
		require.True(t, old.take(h, 1))
		require.False(t, old.take(h, 1))
	}
	r.Retire(old.id)
	r.advance(time.Second)
	for range 4 {
		r.sweepAll()
	}
	next := r.flight(3)
	require.Equal(t, old.id, next.id)
	for h := range uint64(8) {
		for range 3 {
			require.True(t, next.take(h, 1))
		}
		require.False(t, next.take(h, 1))
	}
}

// A rule is replaced under its words: what a key owes stays.
func TestRetunedWordsKeepTheirDebt(t *testing.T) {
	r := newRoom(t, 1)
	l := r.token(10, time.Second, 100)
	require.True(t, l.take(1, 100))
	next, ok, err := l.Rule.Retune(100, time.Second, 100, 0)
	require.NoError(t, err)
	require.True(t, ok)
	l.Rule = next
	r.Retune(l.id, &l.Rule)
	r.advance(10*time.Millisecond - 1)
	require.False(t, l.take(1, 1))
	r.sweepAll()
	r.advance(1)
	require.True(t, l.take(1, 1))
	r.advance(time.Second)
	r.sweepAll()
	slot, _ := r.Find(1, l.id)
	require.Equal(t, shard.None, slot, "idle by the new rate")
}

// Over thirty years of sweeps at the pace that Span asks for, words stay right:
// an idle key has its burst, one that owes for months owes it.
func TestSweepsKeepWordsRightForThirtyYears(t *testing.T) {
	r := newRoom(t, 1)
	fast := r.token(65535, time.Second, 65535)
	slow := r.token(1, 30*24*time.Hour, 6)
	span := r.Span()
	require.Less(t, span, 60*24*time.Hour)
	require.True(t, fast.take(1, 65535))
	used := 0
	for ; time.Duration(r.clock.Now()) < 30*365*24*time.Hour; r.advance(span) {
		r.sweepAll()
		for slow.take(2, 1) {
			used++
		}
	}
	require.True(t, fast.take(1, 65535))
	require.False(t, fast.take(1, 1))
	want := 6 + int(time.Duration(r.clock.Now()-int64(span))/(30*24*time.Hour))
	require.InDelta(t, want, used, 1)
}

func TestSpanIsTheShortestOfAllRules(t *testing.T) {
	r := newRoom(t, 1)
	r.flight(1)
	r.token(1, time.Second, 1)
	long := r.Span()
	s := r.assign(bucket.NewSliding(5, time.Second))
	require.Less(t, r.Span(), long)
	require.LessOrEqual(t, r.Span(), 128*time.Second)
	require.Equal(t, s.Rule.Span(), r.Span())
}
