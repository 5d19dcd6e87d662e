package gate

import (
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestEnteringAllocatesNothing(t *testing.T) {
	g := new(Gate)
	g.Resize(1, 3)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		g.Enter(true)
		g.Enter(false)
		g.Enter(false) // refused
		g.EnterWithin(false, 0, 0)
		g.Leave(true)
		g.Leave(false)
	}))

	var way Stripe
	g = new(Gate)
	g.Join(&way)
	g.Resize(8, 0)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		g.Spread()
		g.EnterBy(&way, true)
		g.EnterBy(&way, false)
		g.LeaveBy(&way, true)
		g.LeaveBy(&way, false)
		g.Inside()
		g.Hold()
		g.Release()
	}))
}

// Whoever holds the gate together asks it all the time, and does not wait for who
// resizes or spreads: with the lock taken, this test would not end.
func TestAHeldGateAnswersWithoutItsLock(t *testing.T) {
	var way Stripe
	g := new(Gate)
	g.Join(&way)
	g.Resize(2, 0)
	g.Hold()
	g.mu.Lock()
	require.True(t, g.EnterWithin(false, 1, 0))
	require.False(t, g.EnterWithin(false, 1, 0))
	require.True(t, g.EnterBy(&way, true))
	critical, other := g.Inside()
	require.Equal(t, 1, critical)
	require.Equal(t, 1, other)
	g.LeaveBy(&way, true)
	g.mu.Unlock()
}

// The word is written by every request that finds no place in its stripe, what
// the word counts by is read, and the lock is fought for: wherever the allocator
// puts the gate, none of them shares its cache line with another or a neighbour. A
// stripe is one word, to lie where its user writes anyway.
func TestEachPartOfTheGateHasItsCacheLine(t *testing.T) {
	var g Gate
	word, limits, resizes := unsafe.Offsetof(g.word), unsafe.Offsetof(g.limits), unsafe.Offsetof(g.resizes)
	require.GreaterOrEqual(t, word, uintptr(64-8))
	require.GreaterOrEqual(t, limits-word, uintptr(64))
	require.Less(t, resizes-limits, uintptr(64))
	require.GreaterOrEqual(t, unsafe.Offsetof(g.mu)-resizes, uintptr(56))
	require.EqualValues(t, 8, unsafe.Sizeof(Stripe{}))
}

func TestStepIsInlined(t *testing.T) {
	if runtime.Compiler != "gc" {
		t.Skip("asks the gc compiler")
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, f := range []string{"can inline fits\n", "inlining call to fits\n"} {
		require.Contains(t, string(out), f)
	}
}
