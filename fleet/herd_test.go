package fleet_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/fleet"
)

// After an outage the instances come back one after the other: of many at most
// a fifth in any 100 ms, also when each has lost many shards, and all within 2.2
// seconds; where the store refuses at once, and is asked more often, a seventh. When
// each comes is chance, so that it is the mean of the outages that is held to that,
// and each of them to a fourth.
func TestInstancesComeBackOneAfterTheOther(t *testing.T) {
	const n = 200
	for _, quick := range []bool{true, false} {
		l := tokenBucket(10_000, 2000)
		w := newWorld(t, n, fleet.Config{Transport: shards(16)}, l)
		use := func() {
			for _, b := range w.boxes {
				for i := range 8 {
					_, _ = b.ask(l.Name, keyOf(i), 1)
				}
			}
		}
		var worst []int64 // of each outage
		for range 6 {
			for range 20 {
				use()
				w.seconds(0.1)
			}
			w.down, w.quick = true, quick
			for range 50 {
				use()
				w.seconds(0.1)
			}
			w.down = false
			came := map[int]bool{}
			w.cut = func(i int) bool { came[i] = true; return false }
			most := 0
			for range 22 {
				before := len(came)
				w.seconds(0.1)
				most = max(most, len(came)-before)
			}
			worst = append(worst, int64(most))
			w.cut = nil
			require.Len(t, came, n)
		}
		t.Logf("at most %.1f %% in 100 ms, by outage %v of %d", 100*mean(worst)/n, worst, n)
		if quick {
			require.LessOrEqual(t, mean(worst), n/7.0)
		}
		require.LessOrEqual(t, mean(worst), n/5.0)
		require.LessOrEqual(t, slices.Max(worst), int64(n/4))
	}
}
