package fleetredis_test

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/redistest"
)

// skewed is demand of which an instance gets the less the higher its number.
func skewed(n int) func(time.Duration) int {
	sum := 0.0
	for i := range n {
		sum += math.Pow(float64(i+1), -1.2)
	}
	return func(time.Duration) int {
		u := rand.Float64() * sum
		for i := range n {
			if u -= math.Pow(float64(i+1), -1.2); u < 0 {
				return i
			}
		}
		return n - 1
	}
}

// shifting is demand of which 80 % are on one instance, every so long on another.
func shifting(n int, every time.Duration) func(time.Duration) int {
	return func(at time.Duration) int {
		if rand.Float64() < 0.8 {
			return int(at/every) % n
		}
		return rand.IntN(n)
	}
}

// Ten instances, of which a few have most of the demand and then another one
// every other second, lose their server twice: decisions go on in bounds,
// nothing is forgotten for good, nothing multiplied.
func TestServerIsKilledTwice(t *testing.T) {
	skipFaults(t)
	const n = 10
	for name, c := range map[string]struct {
		where      func(time.Duration) int
		low, after float64 // while the server is away, and once it is back
	}{
		// Nobody can tell an instance, in an outage, that the demand has moved to it.
		"skewed":   {skewed(n), 0.9, 0.95},
		"shifting": {shifting(n, 2*time.Second), 0.2, 0.85},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Start(t)
			engines := fleetOf(t, n, limits(), srv.Addr)
			heard(t, engines, n)
			away := seconds(2, 4)
			kills := []time.Duration{3 * time.Second, 3*time.Second + away + 4*time.Second}
			lasts := kills[1] + away + 5*time.Second
			var step atomic.Int64
			steps := []func(){srv.Kill, srv.Restart, srv.Kill, srv.Restart}
			at := []time.Duration{kills[0], kills[0] + away, kills[1], kills[1] + away}
			phase := func(now time.Duration) int {
				if now >= at[0] && now < at[1] || now >= at[2] && now < at[3] {
					return 1
				}
				return 0
			}
			d := &demand{where: c.where, phase: phase}
			d.drive(engines, "api", 3*faultRate, lasts, func(now time.Duration) {
				if i := step.Load(); int(i) < len(at) && now >= at[i] && step.CompareAndSwap(i, i+1) {
					go steps[i]()
				}
			})
			t.Logf("%v by second, decisions: while all is well %v, while the server is away %v", d.perSecond, &d.took[0], &d.took[1])
			var during, settled []float64
			total := int64(0)
			for sec, x := range d.perSecond[:int(lasts/time.Second)] {
				total += x
				switch now := time.Duration(sec) * time.Second; {
				case phase(now) == 1:
					during = append(during, float64(x)/faultRate)
				case sec > 0 && (now < at[0] || now >= at[1]+2*time.Second && now < at[2] || now >= at[3]+2*time.Second):
					settled = append(settled, float64(x)/faultRate)
				}
			}
			within(t, c.low, 2, during)
			within(t, c.after, 1.07, []float64{average(settled)})
			// At most a second bucket for each outage.
			most := faultBurst + faultRate*lasts.Seconds() + 2*(faultBurst+faultRate*(away.Seconds()+1))
			require.LessOrEqual(t, float64(total), most)
			require.Eventually(t, func() bool {
				for _, e := range engines {
					if s := e.Snapshot().Fleet; s.Down > 0 || s.Pending > 0 || s.Instances != n {
						return false
					}
				}
				return true
			}, 10*time.Second, 10*time.Millisecond)
		})
	}
}
