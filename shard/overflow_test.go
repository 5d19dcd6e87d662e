package shard_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// slots is how many keys the smallest table holds: one window of 16 lines.
const slots = 64

// filled is the smallest table, full of spent keys of the limit.
func filled(t *testing.T, r *room, l *rule) []uint64 {
	t.Helper()
	hs := keys(31, slots)
	for _, h := range hs {
		c, res := l.ask(h, 1, false)
		require.Equal(t, shard.Taken, res)
		require.False(t, c.Overflowed)
	}
	return hs
}

// Keys without room share a few strict words: however many they are, they get
// no fresh bursts, and everyone with a place keeps it.
func TestKeysWithoutRoomShareStrictWords(t *testing.T) {
	r := newRoom(t, 1)
	l := r.token(1, time.Hour, 1)
	hs := filled(t, r, l)
	admitted := 0
	for _, h := range keys(32, 10_000) {
		c, res := l.ask(h, 1, true)
		require.True(t, c.Overflowed)
		if res == shard.Taken {
			admitted++
		}
	}
	require.Equal(t, 8, admitted)
	for _, h := range hs {
		require.False(t, l.take(h, 1))
	}
	// What a shared word has given can be given back.
	r.advance(time.Hour - 1)
	c, res := l.ask(keys(33, 1)[0], 1, true)
	require.Equal(t, shard.Refused, res)
	r.advance(1)
	require.True(t, l.take(c.H, 1), "its own slot by now: the others' are idle")
}

func TestSharedWordsGiveBack(t *testing.T) {
	r := newRoom(t, 1)
	l, f := r.token(1, time.Hour, 1), r.flight(2)
	filled(t, r, l)
	var held []*shard.Claim
	for range 2 {
		c, res := f.ask(5, 1, true)
		require.Equal(t, shard.Taken, res)
		require.True(t, c.Overflowed)
		held = append(held, c)
	}
	_, res := f.ask(5+8, 1, true) // shares the word
	require.Equal(t, shard.Refused, res)
	require.EqualValues(t, 2, r.InUse()[f.id])
	r.Undo(held[0])
	require.True(t, r.Release(held[1].Slot, bucket.Life(held[1].Word), 1))
	require.False(t, r.Release(held[1].Slot, bucket.Life(held[1].Word), 1))
	require.Zero(t, r.InUse()[f.id])
	require.True(t, f.take(5+8, 2))
}

func TestWithoutSharingAFullTableHasNoRoom(t *testing.T) {
	r := newRoom(t, 1)
	l := r.token(1, time.Hour, 1)
	filled(t, r, l)
	for _, h := range keys(32, 100) {
		c, res := l.ask(h, 1, false)
		require.Equal(t, shard.NoRoom, res)
		require.False(t, c.Overflowed)
		require.Equal(t, shard.None, c.Slot)
	}
	r.advance(time.Hour)
	for _, h := range keys(32, slots) {
		_, res := l.ask(h, 1, false)
		require.Equal(t, shard.Taken, res, "idle slots are used again")
	}
}

// What a limit only watches gives way to what another enforces, and never the
// other way round.
func TestWatchedWordsYieldToEnforcedOnes(t *testing.T) {
	r := newRoom(t, 1)
	shadow, flight, enforced := r.token(1, time.Hour, 1), r.flight(1), r.token(1, time.Hour, 1)
	r.SetShadow(shadow.id, true)
	r.SetShadow(flight.id, true)
	hs := keys(34, slots)
	var inFlight *shard.Claim
	for i, h := range hs {
		l := shadow
		if i == 0 {
			l = flight
		}
		c, res := l.ask(h, 1, false)
		require.Equal(t, shard.Taken, res)
		if i == 0 {
			inFlight = c
		}
	}
	_, res := shadow.ask(1, 1, false)
	require.Equal(t, shard.NoRoom, res, "a watching limit takes nothing from another")
	own := keys(35, slots)
	for _, h := range own {
		c, res := enforced.ask(h, 1, false)
		require.Equal(t, shard.Taken, res)
		require.False(t, c.Overflowed)
	}
	r.Undo(inFlight) // its slot is another key's
	for _, h := range own {
		require.False(t, enforced.take(h, 1), "all enforced words are there")
	}
	_, res = enforced.ask(2, 1, false)
	require.Equal(t, shard.NoRoom, res, "enforced ones do not yield")
	_, res = shadow.ask(hs[1], 1, false)
	require.Equal(t, shard.NoRoom, res)
}

// A limit that is enforced after all keeps its words.
func TestWordsOfALimitThatIsEnforcedAgainStay(t *testing.T) {
	r := newRoom(t, 1)
	l, other := r.token(1, time.Hour, 1), r.token(1, time.Hour, 1)
	r.SetShadow(l.id, true)
	hs := filled(t, r, l)
	r.SetShadow(l.id, false)
	_, res := other.ask(3, 1, false)
	require.Equal(t, shard.NoRoom, res)
	for _, h := range hs {
		require.False(t, l.take(h, 1))
	}
}

// Empty and idle slots come before a watching limit's.
func TestWatchedWordsYieldLast(t *testing.T) {
	r := newRoom(t, 1)
	shadow, brief, enforced := r.token(1, time.Hour, 1), r.token(1, time.Second, 1), r.token(1, time.Hour, 1)
	r.SetShadow(shadow.id, true)
	hs := keys(36, slots)
	for i, h := range hs {
		l := shadow
		if i < slots/2 {
			l = brief
		}
		require.True(t, l.take(h, 1))
	}
	r.advance(time.Second)
	for _, h := range keys(37, slots/2) {
		require.True(t, enforced.take(h, 1))
	}
	for _, h := range hs[slots/2:] {
		require.False(t, shadow.take(h, 1))
	}
}

// A settlement charges a key wherever it is: its word, a new one, or the one it
// shares.
func TestSettlementsFindAPlace(t *testing.T) {
	r := newRoom(t, 1)
	l := r.token(1, time.Second, 10)
	c := l.claim(9, 25)
	require.True(t, r.Charge(c))
	require.False(t, l.take(9, 1))
	r.advance(15 * time.Second)
	require.False(t, l.take(9, 1), "25 charged, 15 dripped in, 10 fit")
	r.advance(time.Second)
	require.True(t, l.take(9, 1))
	require.False(t, r.Charge(l.claim(9, math.MaxInt64)), "more than a word can hold")
	require.False(t, l.take(9, 1))

	full := newRoom(t, 1)
	spent := full.token(1, time.Hour, 1)
	post := full.token(1, time.Hour, 10)
	filled(t, full, spent)
	require.True(t, full.Charge(post.claim(9, 25)))
	c, res := post.ask(9, 1, true)
	require.Equal(t, shard.Refused, res)
	require.True(t, c.Overflowed)
	require.EqualValues(t, 25*int64(post.Unit()), post.Debt(c.Word, c.At))
}

// An estimate is held beside what the bucket owes, wherever that is.
func TestHoldsCountWhatTheBucketOwes(t *testing.T) {
	for _, full := range []bool{false, true} {
		r := newRoom(t, 1)
		l := r.token(1, time.Second, 10)
		hold, err := l.HoldFor()
		h := r.assign(hold, err)
		if full {
			filled(t, r, r.token(1, time.Hour, 1))
		}
		ask := func(cost int64) (*shard.Claim, shard.Result) {
			c := h.claim(9, cost)
			c.BucketID = l.id
			now := r.clock.published.Load()
			if r.Look(c, now) && r.Commit(c) {
				return c, shard.Taken
			}
			return c, r.Take(c, now, true)
		}
		a, res := ask(6)
		require.Equal(t, shard.Taken, res)
		_, res = ask(5)
		require.Equal(t, shard.Refused, res)
		require.EqualValues(t, 6, r.InUse()[h.id])
		r.Charge(l.claim(9, 7))
		_, res = ask(1)
		require.Equal(t, shard.Refused, res, "both count between the charge and the release")
		require.True(t, r.ReleaseHold(a.Slot, uint8(a.Word>>56), 6))
		require.False(t, r.ReleaseHold(a.Slot, uint8(a.Word>>56), 6))
		_, res = ask(4)
		require.Equal(t, shard.Refused, res, "7 owed")
		b, res := ask(3)
		require.Equal(t, shard.Taken, res)
		r.Undo(b)
		require.Zero(t, r.InUse()[h.id])
		r.advance(7 * time.Second)
		_, res = ask(10)
		require.Equal(t, shard.Taken, res)
	}
}

// What is undone after its slot has gone to another key touches nothing there.
func TestUndoOfAnEvictedChargeTouchesNothing(t *testing.T) {
	r := newRoom(t, 1)
	shadow, flight := r.token(1, time.Hour, 5), r.flight(3)
	r.SetShadow(shadow.id, true)
	var charged []*shard.Claim
	for _, h := range keys(38, slots) {
		c, res := shadow.ask(h, 2, false)
		require.Equal(t, shard.Taken, res)
		charged = append(charged, c)
	}
	own := keys(39, slots)
	for _, h := range own {
		require.True(t, flight.take(h, 2))
	}
	for _, c := range charged {
		r.Undo(c)
	}
	require.EqualValues(t, 2*slots, r.InUse()[flight.id])
	for _, h := range own {
		require.True(t, flight.take(h, 1))
		require.False(t, flight.take(h, 1))
	}
}

// A shared word that nobody has asked for a long time is still right: the sweep
// renews it.
func TestSharedWordsStayRightWhileUnused(t *testing.T) {
	r := newRoom(t, 1)
	l := r.token(65535, time.Second, 10)
	filled(t, r, r.flight(1))
	span := r.Span()
	for range 3 { // without the sweep a word half a turn of the ring old looks far in debt
		c, res := l.ask(5, 10, true)
		require.Equal(t, shard.Taken, res)
		require.True(t, c.Overflowed)
		for range 6 {
			r.advance(span)
			r.sweepAll()
		}
	}
}
