package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// A request without any claim is decided by the layers that need none.
func TestRequestWithoutClaims(t *testing.T) {
	f := start(t, engine.Config{Gate: engine.Gate{Capacity: 1}})
	a := f.Admit(engine.Request{Class: engine.Read})
	require.Equal(t, engine.Decision{Remaining: -1}, a.Decision())
	b := f.Admit(engine.Request{Class: engine.Read})
	require.Equal(t, engine.Reserved, b.Decision().Reason)
	a.Done(engine.Success)
	c := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{}})
	require.True(t, c.OK())
	c.Done(engine.Success)
}

// A request that claims nothing is decided alike whether its class is known, which
// is the shorter way, or counts as the default.
func TestRequestWithoutClaimsIsDecidedAlikeOnBothWays(t *testing.T) {
	for _, cfg := range []engine.Config{
		{},
		{Gate: engine.Gate{Capacity: 3, Reserve: 0.34, HardCap: 4}},
		{Gate: engine.Gate{Capacity: 3, Mode: engine.Shadow}},
	} {
		for _, class := range []engine.Class{engine.Test, engine.Critical} {
			cfg.Default = class
			short, long := start(t, cfg), start(t, cfg)
			var open []*engine.Ticket
			for range 6 {
				a, b := short.Admit(engine.Request{Class: class}), long.Admit(engine.Request{})
				require.Equal(t, b.Decision(), a.Decision())
				open = append(open, &a, &b)
			}
			s, l := short.Snapshot(), long.Snapshot()
			require.Equal(t, l.Admitted, s.Admitted)
			require.Equal(t, l.Gate, s.Gate)
			for _, tk := range open {
				tk.Done(engine.Success)
			}
			s = short.Snapshot()
			require.Zero(t, s.Gate.Other+s.Gate.Critical)
		}
	}
}

// A ticket that nobody gave out lets nobody in.
func TestTheZeroTicketIsNoAdmission(t *testing.T) {
	var zero engine.Ticket
	require.False(t, zero.OK())
	zero.Done(engine.Success)
}
