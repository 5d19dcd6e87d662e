package fleet_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
)

// turn gives an instance a limit of another kind or mode under the same name, as
// a reload does: there is nothing of the old one that it could read on.
func (b *box) turn(l engine.Limit) {
	var err error
	b.shared[l.Name], err = b.f.Bind(engine.Binding{ID: 1, Limit: l, Rule: rule(b.w.t, l)})
	require.NoError(b.w.t, err)
}

func TestExp(t *testing.T) {
	for _, n := range []int{2, 4, 10} {
		for _, strictOnes := range []int{1, n / 2, n - 1} {
			for _, load := range []float64{0.8, 3} {
				for name, shape := range map[string]func(int) func(int64) []float64{"balanced": balanced, "skewed": skewed} {
					t.Run(fmt.Sprint(n, " ", strictOnes, " ", load, name), func(t *testing.T) {
						w := newWorld(t, n, fleet.Config{}, tokenBucket(1000, 200))
						for _, b := range w.boxes[:strictOnes] {
							b.turn(strict(1000, 200))
						}
						w.seconds(0.5)
						d := w.drive(tokenBucket(1000, 200), user, load*1000, shape(n))
						w.seconds(20)
						t.Logf("ratio %.3f excess %.0f jain %.3f sec %v adm %v off %v", float64(sum(d.admitted))/float64(d.truth.n), d.excess(1000, 200), d.jain(), d.perSecond, d.admitted, d.offered)
					})
				}
			}
		}
	}
}
