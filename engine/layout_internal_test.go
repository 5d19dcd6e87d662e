package engine

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The published time is read by every decision and written every millisecond:
// wherever the allocator puts the timeline, nothing else is on its cache line.
func TestPublishedTimeHasItsCacheLine(t *testing.T) {
	var l timeline
	at := unsafe.Offsetof(l.published)
	require.GreaterOrEqual(t, at, uintptr(64-8))
	require.GreaterOrEqual(t, unsafe.Offsetof(l.clock)-at, uintptr(64))
}

// What every decision reads, and nobody writes often, shares no cache line with
// what every decision writes.
func TestWhatIsWrittenLiesApartFromWhatIsRead(t *testing.T) {
	var e Engine
	const line = 64
	gate := unsafe.Offsetof(e.gate) // pads its own words on both sides
	for _, read := range []uintptr{
		unsafe.Offsetof(e.plan), unsafe.Offsetof(e.time), unsafe.Offsetof(e.table), unsafe.Offsetof(e.lanes), unsafe.Offsetof(e.tallies),
		unsafe.Offsetof(e.level), unsafe.Offsetof(e.layerMode), unsafe.Offsetof(e.lease),
	} {
		require.Less(t, read, gate)
	}
	require.Less(t, gate, unsafe.Offsetof(e.misuse))
	require.GreaterOrEqual(t, unsafe.Sizeof(e.gate), uintptr(2*line))

	// Stripes are whole lines, and the allocator begins blocks of whole lines at one.
	require.Equal(t, uintptr(line), unsafe.Sizeof(lane{}))
	require.Zero(t, unsafe.Sizeof(tally{})%line)
	require.Zero(t, unsafe.Sizeof(limitTally{})%line)
}
