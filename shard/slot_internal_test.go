package shard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
)

// noon is a clock that stands.
type noon struct{}

func (noon) Now() int64    { return 0 }
func (noon) Publish(int64) {}

// charged takes cost for the key and returns the claim.
func charged(t *testing.T, tab *Table, r *bucket.Rule, id uint8, h uint64, cost int64) Claim {
	t.Helper()
	c := Claim{H: h, Cost: cost, Rule: r, ID: id}
	require.Equal(t, Taken, tab.Take(&c, 0, true))
	return c
}

// A known key's slot is found at home or away, by its tag and by no other; its
// word can be changed until the slot has gone to another key.
func TestASlotIsItsTags(t *testing.T) {
	tab := New(1, noon{})
	r, err := bucket.NewToken(1, time.Hour, 9)
	require.NoError(t, err)
	id, err := tab.Assign(&r)
	require.NoError(t, err)
	const h = 0x1234567812345678 // not at home in the first line
	require.NotZero(t, tab.lineOf(h))
	home, tag := tab.Home(h), TagOf(h, id)
	require.False(t, home.Pick(tag).is(tag))
	c := charged(t, tab, &r, id, h, 2)
	s := home.Pick(tag)
	require.True(t, s.is(tag))
	require.Same(t, s, tab.Slot(h, tag))
	require.Equal(t, c.Slot, tab.Index(s))
	require.Nil(t, tab.Slot(h, TagOf(h, id+1)))
	require.False(t, home.Pick(TagOf(h+1, id)).is(TagOf(h+1, id)))
	require.Nil(t, tab.away(h, tag))

	w, ok := s.Read(tag)
	require.True(t, ok)
	require.Equal(t, c.Word, w)
	_, ok = s.Read(tag + 1)
	require.False(t, ok)
	next, ok := r.Take(w, r.At(0), 1)
	require.True(t, ok)
	require.True(t, s.Change(w, next))
	require.False(t, s.Change(w, next))
	require.True(t, s.Still(w), "a charge is no change of hands")

	// Keys that fill the line push the next one of the same home away.
	for i := uint64(1); i < slotsPerLine+1; i++ {
		charged(t, tab, &r, id, h+i, 1)
	}
	far := uint64(h + slotsPerLine)
	require.Same(t, home, tab.Home(far))
	require.False(t, home.Pick(TagOf(far, id)).is(TagOf(far, id)))
	away := tab.away(far, TagOf(far, id))
	require.NotNil(t, away)
	require.Same(t, away, tab.Slot(far, TagOf(far, id)))
	require.True(t, away.is(TagOf(far, id)))

	// Neighbours in a line, and none behind the last.
	n := 1
	for s := &home.slots[0]; s.Next() != s; s = s.Next() {
		require.Same(t, &home.slots[n], s.Next())
		n++
	}
	require.Equal(t, slotsPerLine, n)

	// The slot's next life is another one.
	c.Word, c.Cost = next, 3
	tab.Undo(&c)
	idle := s.word.Load()
	require.True(t, r.Idle(idle, r.At(0)))
	require.True(t, tab.erase(s, tab.lineOf(h), tag, idle))
	require.False(t, s.Still(idle))
	require.False(t, home.Pick(tag).is(tag))
}

// An estimate whose request lost a race on another limit is let go of.
func TestUndoLetsGoOfAnEstimate(t *testing.T) {
	tab := New(1, noon{})
	r, err := bucket.NewToken(1, time.Hour, 9)
	require.NoError(t, err)
	hold, err := r.HoldFor()
	require.NoError(t, err)
	bucketID, err := tab.Assign(&r)
	require.NoError(t, err)
	id, err := tab.Assign(&hold)
	require.NoError(t, err)
	c := Claim{H: 5, Cost: 4, Rule: &hold, ID: id, BucketID: bucketID}
	require.Equal(t, Taken, tab.Take(&c, 0, false))
	require.EqualValues(t, 4, tab.InUse()[id])
	tab.Undo(&c)
	require.Zero(t, tab.InUse()[id])
	require.Equal(t, bucket.ReleaseHold(c.Word, 4), tab.slot(c.Slot).word.Load(), "its sequence has moved on")
}

// A rule that takes over an id of one whose keys had overflowed owes nothing of
// what those did.
func TestANewRuleOwesNothingOfTheOldOnesOverflow(t *testing.T) {
	tab := New(1, noon{})
	r, err := bucket.NewToken(1, time.Hour, 9)
	require.NoError(t, err)
	id, err := tab.Assign(&r)
	require.NoError(t, err)
	tab.ids.spills[id].Store(true)
	for i := range uint64(overflowSlots) {
		s := tab.slot(tab.overflow(i, id))
		w, ok := r.Take(s.word.Load(), r.At(0), 9)
		require.True(t, ok)
		s.word.Store(w)
	}
	tab.ids.used[id] = false
	again, err := tab.Assign(&r)
	require.NoError(t, err)
	require.Equal(t, id, again)
	require.False(t, tab.ids.spills[id].Load())
	for i := range uint64(overflowSlots) {
		require.True(t, r.Idle(tab.slot(tab.overflow(i, id)).word.Load(), r.At(0)))
	}
}
