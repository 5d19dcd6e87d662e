package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/gate"
)

// The ticker gives the gate the size that the adaptive limit has come to, but not
// while a Swap decides what size it is to have.
func TestTheTickerLeavesTheGateToASwap(t *testing.T) {
	e := Must(New(Config{Gate: Gate{Adaptive: &gate.AdaptiveConfig{Initial: 40}}, Clock: NewManualClock(time.Unix(0, 0))}))
	defer e.Close()
	size := func() int {
		n, _ := e.gate.Limits()
		return n
	}
	require.Equal(t, 40, size())

	e.mu.Lock()
	e.gate.Resize(7, 0)
	e.adapt()
	require.Equal(t, 7, size())
	e.mu.Unlock()
	e.adapt()
	require.Equal(t, 40, size())

	require.NoError(t, e.Swap(Config{Gate: Gate{Capacity: 9}, Clock: e.time.clock}))
	e.adapt()
	require.Equal(t, 9, size())
}
