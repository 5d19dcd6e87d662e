package key_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weir-go/weir/key"
)

// However many lines a table has, a key's is one of them, no key of a higher H has
// a lower one, and each is that of as many upper halves as any other, but for one.
func TestLinesAreInsideTheTableInOrderAndEven(t *testing.T) {
	const halves = 1 << 32
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.Uint64Range(1, halves-1), rapid.Uint64Range(1, 100), rapid.Uint64Range(halves-100, halves-1)).Draw(t, "lines")
		a, b := rapid.Uint64().Draw(t, "H"), rapid.Uint64().Draw(t, "another H")
		require.Less(t, key.Line(a, n), n)
		require.LessOrEqual(t, key.Line(min(a, b), n), key.Line(max(a, b), n))
		require.Zero(t, key.Line(0, n))
		require.Equal(t, n-1, key.Line(math.MaxUint64, n))

		// The upper halves of a line are those from first on, to before the next one's.
		i := rapid.Uint64Range(0, n-1).Draw(t, "line")
		first, next := (i*halves+n-1)/n, ((i+1)*halves+n-1)/n
		low := rapid.Uint64Range(0, halves-1).Draw(t, "lower half")
		require.Equal(t, i, key.Line(first<<32|low, n))
		require.Equal(t, i, key.Line((next-1)<<32|low, n))
		if i > 0 {
			require.Equal(t, i-1, key.Line((first-1)<<32|low, n))
		}
		require.Contains(t, []uint64{halves / n, halves/n + 1}, next-first)
	})
}
