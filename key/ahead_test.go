package key_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/key"
)

// However many lines a table has, a key's is one of them, no key of a higher H has
// a lower one, and each is that of as many upper halves as any other, but for one.
func TestLinesAreInsideTheTableInOrderAndEven(t *testing.T) {
	const halves = 1 << 32
	rnd := rand.New(rand.NewPCG(6, 6))
	for range 5000 {
		// Any number of lines, a few, and as many as there can be.
		n := []uint64{1 + rnd.Uint64N(halves-1), 1 + rnd.Uint64N(100), halves - 1 - rnd.Uint64N(100)}[rnd.IntN(3)]
		a, b, low := rnd.Uint64(), rnd.Uint64(), rnd.Uint64N(halves)
		require.Less(t, key.Line(a, n), n)
		require.LessOrEqual(t, key.Line(min(a, b), n), key.Line(max(a, b), n))
		require.Zero(t, key.Line(0, n))
		require.Equal(t, n-1, key.Line(math.MaxUint64, n))

		// The upper halves of a line are those from first on, to before the next one's.
		i := rnd.Uint64N(n)
		first, next := (i*halves+n-1)/n, ((i+1)*halves+n-1)/n
		require.Equal(t, i, key.Line(first<<32|low, n))
		require.Equal(t, i, key.Line((next-1)<<32|low, n))
		if i > 0 {
			require.Equal(t, i-1, key.Line((first-1)<<32|low, n))
		}
		require.Contains(t, []uint64{halves / n, halves/n + 1}, next-first)
	}
}
