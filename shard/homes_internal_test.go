package shard

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/key"
)

// What a hasher is told to ask for is what the table looks at: a key's line by
// either is the same, inside the table and none of the overflow words.
func TestAHasherAsksForTheLineThatIsLookedAt(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, entries := range []int{1, 39, 100, 1000, 9_829, 100_000} {
		tab := New(entries, nil)
		homes := tab.Homes()
		first, n := homes.First, homes.N
		require.Zero(t, homes.Salt)
		require.Same(t, &tab.lines[0], (*Line)(first))
		require.EqualValues(t, len(tab.lines)-maxIDs*overflowSlots/slotsPerLine, n)
		for i := range 2000 {
			h := rnd.Uint64()
			if i < 2 {
				h = []uint64{0, math.MaxUint64}[i]
			}
			ln := key.Line(h, n)
			require.Less(t, ln, n)
			require.Same(t, &tab.lines[ln], tab.Home(h))
			require.Same(t, tab.Home(h), (*Line)(unsafe.Add(first, ln*uint64(unsafe.Sizeof(Line{})))))
			_, base, in := tab.home(h)
			require.Equal(t, ln, base+in)
		}
	}
}
