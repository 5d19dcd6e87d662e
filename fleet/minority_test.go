package fleet_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/fleet/fleettest"
)

// A minority of a cluster goes on taking the writes of those on its side, until
// it notices; these are lost then. Either side admits the limit meanwhile, so that
// the fleet admits at most b + r*t more than one bucket in that time t, and soon
// after no more than the limit again: what those of the losing side know is
// joined to what the others wrote.
func TestAMinorityGoesOnWriting(t *testing.T) {
	const rate, burst = 1000, 200
	for _, n := range []int{2, 10} {
		for _, lasts := range []float64{1, 5} {
			t.Run(fmt.Sprint(n, " ", lasts), func(t *testing.T) {
				w, d := steady(t, n, tokenBucket(rate, burst))
				from := len(d.perSecond)
				lost := w.store.Clone()
				w.split = func(i int) *fleettest.Store {
					if i < n/2 {
						return &lost
					}
					return nil
				}
				w.seconds(lasts)
				w.split = nil
				w.seconds(6)
				all := d.perSecond[from : from+int(lasts)+5]
				t.Logf("%v", all)
				apart, back := all[:int(lasts)], all[int(lasts)+2:]
				require.LessOrEqual(t, float64(sum(all[:int(lasts)+2])), burst+rate*(2*lasts+2))
				if lasts > 1 {
					require.Greater(t, mean(apart), 1.3*rate, "it is one limit for each side, or the test proves nothing")
				}
				require.InDelta(t, rate, mean(back), 0.05*rate)
			})
		}
	}
}
