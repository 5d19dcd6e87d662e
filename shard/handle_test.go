package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// A handle that was given back is spent for good, however often its slot is
// emptied and taken again, by its own key or another: versions repeat after 256,
// generations do not.
func TestASpentHandleStaysSpent(t *testing.T) {
	r := newRoom(t, 1)
	l := r.flight(2)
	old, res := l.ask(42, 1, false)
	require.Equal(t, shard.Taken, res)
	slot, life := old.Slot, bucket.Life(old.Word)
	require.True(t, r.Release(slot, life, 1))
	again := 0
	for i := range 700 {
		r.sweepAll() // empties it
		s, _ := r.Find(42, l.id)
		require.Equal(t, shard.None, s)
		c, res := l.ask(42, 1, false)
		require.Equal(t, shard.Taken, res)
		if c.Slot == slot {
			again++
		}
		require.False(t, r.Release(slot, life, 1), "after %d lives", i+1)
		require.EqualValues(t, 1, r.InUse()[l.id])
		require.True(t, r.Release(c.Slot, bucket.Life(c.Word), 1))
	}
	require.Greater(t, again, 256, "the slot was another's")
}

// The sweep sees every slot of every line: it empties what is idle, counts what
// is not, and keeps words right that nobody asks for longer than their ring.
func TestTheSweepSeesEverySlot(t *testing.T) {
	r := newRoom(t, 300)
	l := r.token(1, time.Hour, 1)
	var in []uint64
	for _, h := range keys(9, 2000) {
		if _, res := l.ask(h, 1, false); res == shard.Taken {
			in = append(in, h)
		}
	}
	require.GreaterOrEqual(t, len(in), 300)
	require.Zero(t, len(in)%64, "every slot of its windows of 16 lines is taken, but %d are", len(in))
	r.sweepAll()
	require.Equal(t, len(in), r.Entries())
	r.advance(time.Hour - 1)
	r.sweepAll()
	require.Equal(t, len(in), r.Entries(), "each owes a unit yet")
	r.advance(1)
	r.sweepAll()
	require.Zero(t, r.Entries())
	for _, h := range in {
		s, _ := r.Find(h, l.id)
		require.Equal(t, shard.None, s)
	}
}
