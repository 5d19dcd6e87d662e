package engine

import (
	"math"
	"reflect"
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

// So has that of each bucket.
func TestABucketsPublishedTimeHasItsCacheLine(t *testing.T) {
	e := Must(New(Config{Limits: []Limit{{Name: "api", Rate: 1, Per: 1, Burst: 1}, {Name: "own", Rate: 1, Per: 1, Burst: 1}}, MaxEntries: 1}))
	defer func() { require.NoError(t, e.Close()) }()
	require.Equal(t, uintptr(64), unsafe.Sizeof(instant{}))
	for _, l := range e.plan.Load().limits[1:] {
		require.Zero(t, uintptr(unsafe.Pointer(l.at))%64)
	}
}

// A ticket is no more than Go returns in registers: four fields, and of each no more,
// of four words. With one more, every Admit writes it to memory and its caller copies it.
func TestATicketIsReturnedInRegisters(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("words are shorter")
	}
	few := func(s reflect.Type) {
		require.LessOrEqual(t, s.NumField(), 4, s)
		require.LessOrEqual(t, s.Size(), uintptr(32), s)
	}
	few(reflect.TypeFor[Ticket]())
	few(reflect.TypeFor[state]())
	require.LessOrEqual(t, holdRecord, holdKind(kindMask), "kinds of hold have their bits")
	require.LessOrEqual(t, lanes, 1<<(8-gateBits), "and a lane beside the gate")
	require.LessOrEqual(t, maxHolds, math.MaxUint8, "holds are counted in a byte")
	require.LessOrEqual(t, openTickets, math.MaxUint8, "and so are the sampled ones, from 1 on")
	require.Equal(t, uintptr(16), unsafe.Sizeof(hold{}))
}

// What a lone claim needs of its limit lies side by side.
func TestWhatALoneClaimReadsIsALine(t *testing.T) {
	var l limit
	for _, end := range []uintptr{
		unsafe.Offsetof(l.lone) + unsafe.Sizeof(l.lone), unsafe.Offsetof(l.at) + unsafe.Sizeof(l.at),
		unsafe.Offsetof(l.spend) + unsafe.Sizeof(l.spend), unsafe.Offsetof(l.table) + unsafe.Sizeof(l.table),
	} {
		require.LessOrEqual(t, end, uintptr(64))
	}
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
