package gate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/gate"
)

// At once is taken what lies in one's own stripe, and nothing else: not from one that
// is closed or empty, not from another, not from the gate's word.
func TestOnlyWhatLiesThereIsTakenAtOnce(t *testing.T) {
	var mine, other gate.Stripe
	g := new(gate.Gate)
	g.Join(&mine)
	g.Join(&other)
	g.Resize(8, 0)
	require.False(t, mine.TakeOther(), "closed")
	require.True(t, g.EnterBy(&mine, false))
	g.LeaveBy(&mine, false)
	require.False(t, mine.TakeOther(), "closed")

	g.Spread()
	require.True(t, g.Apart())
	require.False(t, mine.TakeOther(), "empty")
	require.True(t, g.EnterBy(&mine, true))
	require.False(t, mine.TakeOther(), "empty, with a critical request inside")
	for range 2 {
		require.True(t, g.EnterBy(&mine, false))
	}
	for range 2 {
		g.LeaveBy(&mine, false)
	}
	require.False(t, other.TakeOther(), "they lie in the other stripe")
	for range 2 {
		require.True(t, mine.TakeOther())
	}
	require.False(t, mine.TakeOther())
	critical, others := g.Inside()
	require.Equal(t, 1, critical)
	require.Equal(t, 2, others)

	g.LeaveBy(&mine, false)
	g.Hold()
	require.False(t, mine.TakeOther(), "held together")
	critical, others = g.Inside()
	require.Equal(t, 1, critical)
	require.Equal(t, 1, others)
	require.Zero(t, testing.AllocsPerRun(100, func() { mine.TakeOther() }))
}
