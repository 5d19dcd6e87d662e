package engine

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever is late with a time does not take back what another has published.
func TestPublishedTimeOnlyMovesForward(t *testing.T) {
	l := newTimeline(nil)
	l.Publish(10)
	l.Publish(5)
	require.EqualValues(t, 10, l.published.Load())
	var wg sync.WaitGroup
	for g := range int64(4) {
		wg.Go(func() {
			for i := range int64(5000) {
				l.Publish(10 + 4*i + g)
				if at := l.published.Load(); at < 10+4*i+g {
					t.Errorf("%d after %d was published", at, 10+4*i+g)
					return
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 10+4*4999+3, l.published.Load())
}
