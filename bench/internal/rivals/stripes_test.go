package rivals_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bench/internal/rivals"
)

func TestStripesAdmitExactlyTheirPlaces(t *testing.T) {
	for _, places := range []int{0, 1, 7, 16, 100} {
		s := rivals.NewStripes(4, places)
		require.Equal(t, places, s.Free())
		for i := range places {
			require.True(t, s.Enter(i), "place %d of %d", i, places)
		}
		for own := range 4 {
			require.False(t, s.Enter(own))
		}
		if places > 0 {
			s.Leave(3)
			require.True(t, s.Enter(1), "a place is found in whatever stripe it is")
		}
	}
}

// Never more inside than places, and nobody is refused for a place that moved
// behind the scan: with one caller fewer than the places hold, no refusal is
// ever right.
func TestStripesUnderContention(t *testing.T) {
	const (
		callers = 4
		places  = callers
		rounds  = 20_000
	)
	s := rivals.NewStripes(4, places)
	var (
		inside, refused atomic.Int64
		wg              sync.WaitGroup
	)
	for c := range callers {
		wg.Go(func() {
			for i := range rounds {
				// Entering and leaving by different stripes moves places about.
				if !s.Enter(c + i) {
					refused.Add(1)
					continue
				}
				if inside.Add(1) > places {
					t.Error("more inside than places")
				}
				inside.Add(-1)
				s.Leave(c * i)
			}
		})
	}
	wg.Wait()
	require.Zero(t, refused.Load(), "there was always a free place")
	require.Equal(t, places, s.Free())
}
