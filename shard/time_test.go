package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/shard"
)

// A refusal is never decided on a published time that is old; the time that
// turns it into an admission is published before the charge. A refusal writes
// nothing.
func TestRefusalsAreDecidedOnTheTrueTime(t *testing.T) {
	r := newRoom(t, 1)
	l := r.token(100, time.Second, 1)
	require.True(t, l.take(1, 1))
	r.clock.now.Store(int64(5 * time.Millisecond))
	c, res := l.ask(1, 1, true)
	require.Equal(t, shard.Refused, res)
	require.Zero(t, r.clock.published.Load(), "a storm of refusals leaves the published time alone")
	require.EqualValues(t, l.At(int64(5*time.Millisecond)), c.At, "what is said of a refusal is as of the true time")
	_, before := r.Find(1, l.id)
	require.Equal(t, before, c.Word)

	r.clock.now.Store(int64(20 * time.Millisecond))
	require.True(t, l.take(1, 1))
	require.EqualValues(t, 20*time.Millisecond, r.clock.published.Load())
}

// A key is born at the true time: born at an old published one it would have
// earned since what it never waited for.
func TestKeysAreBornAtTheTrueTime(t *testing.T) {
	r := newRoom(t, 1)
	l := r.token(1, time.Hour, 1)
	r.clock.now.Store(int64(time.Hour)) // and the published time is 0 still
	require.True(t, l.take(1, 1))
	r.advance(30 * time.Minute)
	require.False(t, l.take(1, 1))
}

// An undo reads the time after the word: with the time of the charge it would
// give back what has dripped in meanwhile.
func TestUndoReadsTheTimeAnew(t *testing.T) {
	r := newRoom(t, 1)
	l := r.token(1, time.Second, 10)
	c, res := l.ask(1, 5, true)
	require.Equal(t, shard.Taken, res)
	r.clock.now.Store(int64(3 * time.Second)) // not published
	require.True(t, l.take(1, 5))
	r.Undo(c)
	_, w := r.Find(1, l.id)
	require.EqualValues(t, 5, l.Left(w, l.At(r.clock.Now())), "3 were left; 2 of the 5 had not dripped in yet")
}

// Looking inserts nothing and charges nothing; neither does a refused first
// sight.
func TestLookingLeavesNoTrace(t *testing.T) {
	r := newRoom(t, 1)
	l := r.token(1, time.Hour, 2)
	require.True(t, r.Look(l.claim(1, 2), 0))
	slot, _ := r.Find(1, l.id)
	require.Equal(t, shard.None, slot)
	require.True(t, l.take(1, 1))
	_, before := r.Find(1, l.id)
	require.False(t, r.Look(l.claim(1, 2), 0))
	require.True(t, r.Look(l.claim(1, 1), 0))
	_, after := r.Find(1, l.id)
	require.Equal(t, before, after)

	f := r.flight(1)
	c, res := f.ask(3, 1, true)
	require.Equal(t, shard.Taken, res)
	r.Undo(c)
	r.sweepAll()
	require.Equal(t, 1, entries(r))
}

func entries(r *room) int {
	r.sweepAll()
	return r.Entries()
}
