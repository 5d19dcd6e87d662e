package rivals

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The schedule that a single pass refuses wrongly: the only place moves to the
// stripe that has just been looked at, from the one that is looked at next.
func TestAPlaceThatMovedBehindTheScanIsNotARefusal(t *testing.T) {
	s := NewStripes(2, 1)
	var seen [maxStripes]uint64
	var ok bool
	seen[0], ok = s.at(0).take()
	require.False(t, ok)
	// Meanwhile another caller takes the place from stripe 1 and leaves by 0.
	_, ok = s.at(1).take()
	require.True(t, ok)
	s.Leave(0)
	seen[1], ok = s.at(1).take()
	require.False(t, ok)
	require.False(t, s.unchanged(0, &seen), "the second pass must see the move")

	// The same, and the place is taken again: the words would be as empty as
	// before, but for their sequence.
	_, ok = s.at(0).take()
	require.True(t, ok)
	require.False(t, s.unchanged(0, &seen))
}
