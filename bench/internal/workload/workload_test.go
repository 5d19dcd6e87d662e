package workload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bench/internal/workload"
)

func TestNamesAreDistinctAndOfOneLength(t *testing.T) {
	require.Equal(t, "acct:000000000000000", workload.Name(0))
	require.Equal(t, "acct:000000010000000", workload.Name(10_000_000))
	require.Len(t, workload.Name(123), workload.KeyLen)
}

// A key table that the tape does not fill would measure one key, as benchmarks
// of this field have done.
func TestTapesMeetTheirKeys(t *testing.T) {
	const keys = 1 << 16
	count := func(d workload.Dist) map[string]int {
		tape := workload.NewTape(0, keys, d)
		seen := map[string]int{}
		for i := range tape.Len() {
			seen[tape.At(i)]++
		}
		return seen
	}
	uniform := count(workload.Uniform)
	require.InDelta(t, 0.865*keys, len(uniform), 0.01*keys)

	zipf := count(workload.Zipf)
	hottest := 0
	for _, n := range zipf {
		hottest = max(hottest, n)
	}
	require.Greater(t, hottest, 2*keys/20, "the hottest key asks for more than 5 % of everything")
	require.Greater(t, len(zipf), keys/10, "and still there is a tail")

	require.Len(t, count(workload.Once), keys)
}

func TestTapesAreTheSameEveryTime(t *testing.T) {
	a, b := workload.NewTape(5, 100, workload.Uniform), workload.NewTape(5, 100, workload.Uniform)
	for i := range a.Len() {
		require.Equal(t, a.At(i), b.At(i))
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{1: "1", 1000: "1k", 1500: "1500", 1_000_000: "1M", 10_000_000: "10M", 0: "0"} {
		require.Equal(t, want, workload.Count(n))
	}
}

func TestMemorySeesWhatIsHeld(t *testing.T) {
	before := workload.MemoryNow()
	held := make([]byte, 64<<20)
	for i := 0; i < len(held); i += 4096 {
		held[i] = 1
	}
	after := workload.MemoryNow()
	require.InDelta(t, 64<<20, after.Heap-before.Heap, 4<<20)
	require.GreaterOrEqual(t, after.Since(before), after.Heap-before.Heap)
	if after.Resident > 0 {
		require.Greater(t, after.Resident, uint64(64<<20))
	}
	require.EqualValues(t, 1, held[0])
}

func TestFloorTouchesOneLine(t *testing.T) {
	f := workload.NewFloor(1000)
	for id := range 1000 {
		require.True(t, f.Bare(workload.Name(id)))
		require.True(t, f.Identity(workload.Name(id)))
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { f.Identity("acct:1") }))
}
