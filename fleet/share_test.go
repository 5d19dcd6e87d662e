package fleet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/key"
)

func tokenBucket(rate, burst int64) engine.Limit {
	return engine.Limit{Name: "api", Rate: rate, Per: time.Second, Burst: burst, Sync: engine.Sync{Mode: engine.SyncShare}}
}

var user = key.Key{H: 0x1234567, P: 0x7654321}

// Ten instances over one limit admit what one would, wherever the demand is.
func TestFleetAdmitsWhatOneBucketWould(t *testing.T) {
	const seconds = 20
	for _, n := range []int{2, 10} {
		for name, share := range map[string]func(int64) []float64{"balanced": balanced(n), "skewed": skewed(n), "shifting": shifting(n, 3*time.Second)} {
			t.Run(fmt.Sprint(n, " ", name), func(t *testing.T) {
				l := tokenBucket(1000, 200)
				w := newWorld(t, n, fleet.Config{}, l)
				w.run(w.now + 500*ms) // they have heard of each other
				d := w.drive(l, user, 3000, share)
				w.run(w.now + seconds*int64(time.Second))
				ratio := float64(sum(d.admitted)) / float64(d.truth.n)
				t.Logf("admitted/one %.4f excess %.0f jain %.3f calls/s %.0f seconds %v", ratio, d.excess(1000, 200), d.jain(), float64(w.store.Commands)/seconds, d.perSecond)
				require.InDelta(t, 1, ratio, 0.015)
				require.Less(t, d.excess(1000, 200), 400.0)
			})
		}
	}
}
