package engine

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Keys lie evenly on a ramp whatever their public hashes look like, which
// clients can choose, and elsewhere on the ramp of another limit.
func TestPlacesAreEvenForAnyHashesAndSalts(t *testing.T) {
	const n = 1 << 14
	rnd := rand.New(rand.NewPCG(4, 4))
	for name, hash := range map[string]func(i uint64) uint64{
		"counting":  func(i uint64) uint64 { return i },
		"high bits": func(i uint64) uint64 { return i << 48 },
		"even":      func(i uint64) uint64 { return 2 * i },
		"random":    func(uint64) uint64 { return rnd.Uint64() },
	} {
		for _, salt := range []uint64{0, 1, 1 << 63, math.MaxUint64, rnd.Uint64()} {
			below, both := 0.0, 0.0
			for i := range uint64(n) {
				p := hash(i)
				if place(p, salt) < modeOne/4 {
					below++
					if place(p, salt+1) < modeOne/4 {
						both++
					}
				}
			}
			sd := math.Sqrt(n * 0.25 * 0.75)
			require.InDelta(t, n/4, below, 6*sd, "%s hashes, salt %d", name, salt)
			require.InDelta(t, n/16, both, 7*sd, "%s hashes, salts %d and the next", name, salt)
		}
	}
}

// One key at every place of a ramp: of them exactly the shares are enabled and
// enforced. None is left over at the ends, where a limit that only watches would
// refuse it, or one that is off would count it.
func TestSharesOfARampAreExact(t *testing.T) {
	var at [modeOne]uint64
	rnd := rand.New(rand.NewPCG(5, 5))
	for found := 0; found < modeOne; {
		p := rnd.Uint64()
		if x := place(p, 7); at[x] == 0 {
			at[x] = p
			found++
		}
	}
	for _, m := range []Mode{Off, Shadow, Enforce, Ramp(0.25, 1), Ramp(0.5, 0.5), Ramp(1, 0.25), Ramp(0.75, 0), Ramp(1./modeOne, 1), Ramp(1, 1./modeOne)} {
		enabled, enforced := 0, 0
		for _, p := range at {
			switch m.action(p, 7) {
			case watch:
				enabled++
			case enforce:
				enabled, enforced = enabled+1, enforced+1
			}
		}
		require.InDelta(t, m.Enabled()*modeOne, enabled, 1e-6, "%v", m)
		require.InDelta(t, m.Enabled()*m.Enforced()*modeOne, enforced, 1-1e-6, "%v", m)
	}
}
