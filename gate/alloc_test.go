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
}

// The word is written by every request and the limits are read by every
// request: wherever the allocator puts the gate, neither shares its cache line
// with the other or with a neighbour.
func TestWordAndLimitsHaveTheirCacheLines(t *testing.T) {
	var g Gate
	word, limits := unsafe.Offsetof(g.word), unsafe.Offsetof(g.limits)
	require.GreaterOrEqual(t, word, uintptr(64-8))
	require.GreaterOrEqual(t, limits-word, uintptr(64))
	require.GreaterOrEqual(t, unsafe.Sizeof(g)-limits, uintptr(64))
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
