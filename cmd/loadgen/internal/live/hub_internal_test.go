package live

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWatcherThatLagsIsDroppedAndTheOthersAreNot(t *testing.T) {
	var h Hub
	_, slow := h.watch(0)
	_, quick := h.watch(0)
	for i := range 3 * watcherBuffer {
		h.Sample(i)
		require.Equal(t, uint64(i+1), (<-quick).id)
	}
	n := 0
	for range slow {
		n++
	}
	require.Equal(t, watcherBuffer, n, "it keeps what it had and is closed")
	require.Len(t, h.watchers, 1)
	h.unwatch(quick)
	h.unwatch(quick)
	require.Empty(t, h.watchers)
}
