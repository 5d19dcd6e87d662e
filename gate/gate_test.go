package gate_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/gate"
)

func sized(allocation, hardCap int) *gate.Gate {
	g := new(gate.Gate)
	g.Resize(allocation, hardCap)
	return g
}

// Reserves are written in percent; the allocation is what exact arithmetic on
// the percents says, whatever the floating-point number makes of them.
func TestAllocationIsExactForPercents(t *testing.T) {
	for percent := 0; percent <= 100; percent++ {
		for capacity := 0; capacity <= 2000; capacity++ {
			require.Equal(t, (100-percent)*capacity/100, gate.Allocation(capacity, float64(percent)/100),
				"capacity %d, reserve %d %%", capacity, percent)
		}
	}
}

// model is the gate in two plain counters.
type model struct{ critical, other, allocation, hardCap int }

func (m *model) enter(critical bool) bool {
	switch {
	case m.hardCap > 0 && m.critical+m.other >= m.hardCap:
		return false
	case critical:
		m.critical++
		return true
	case m.other >= m.allocation:
		return false
	}
	m.other++
	return true
}

func TestHistoriesAgreeWithTwoCounters(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		m := model{allocation: rnd.IntN(8), hardCap: rnd.IntN(10)}
		g := sized(m.allocation, m.hardCap)
		for range 500 {
			critical := rnd.IntN(2) == 0
			switch rnd.IntN(8) {
			case 0:
				m.allocation, m.hardCap = rnd.IntN(8), rnd.IntN(10)
				g.Resize(m.allocation, m.hardCap)
				a, h := g.Limits()
				require.Equal(t, [2]int{m.allocation, m.hardCap}, [2]int{a, h})
			case 1, 2, 3:
				inside := &m.other
				if critical {
					inside = &m.critical
				}
				if *inside > 0 {
					*inside--
					g.Leave(critical)
				}
			case 4:
				within := model{m.critical, m.other, rnd.IntN(8), rnd.IntN(10)}
				require.Equal(t, within.enter(critical), g.EnterWithin(critical, within.allocation, within.hardCap))
				m.critical, m.other = within.critical, within.other
			default:
				require.Equal(t, m.enter(critical), g.Enter(critical), "seed %d, %+v", seed, m)
			}
			c, o := g.Inside()
			require.Equal(t, [2]int{m.critical, m.other}, [2]int{c, o})
		}
	}
}

func TestZeroGateAdmitsNothing(t *testing.T) {
	var g gate.Gate
	require.False(t, g.Enter(true))
	require.False(t, g.Enter(false))
}

func TestCapacityDoesNotBoundCriticalButTheHardCapDoes(t *testing.T) {
	g := sized(2, 0)
	for range 1000 {
		require.True(t, g.Enter(true))
	}
	require.True(t, g.Enter(false), "critical requests take nothing of the others' share")
	require.True(t, g.Enter(false))
	require.False(t, g.Enter(false))

	g = sized(2, 3)
	require.True(t, g.Enter(true))
	require.True(t, g.Enter(true))
	require.True(t, g.Enter(false))
	require.False(t, g.Enter(true))
	require.False(t, g.Enter(false), "the hard cap bounds the others too, below their allocation")
	g.Leave(true)
	require.True(t, g.Enter(true))
}

// Whatever the interleaving, those inside never exceed the caps: everyone who
// is inside counts themselves after entering and before leaving.
func TestCapsHoldUnderAnyInterleaving(t *testing.T) {
	const allocation, hardCap = 3, 5
	g := sized(allocation, hardCap)
	var inside, others, over atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 20_000 {
				critical := i%2 == 0
				if !g.Enter(critical) {
					continue
				}
				if inside.Add(1) > hardCap || !critical && others.Add(1) > allocation {
					over.Add(1)
				}
				if !critical {
					others.Add(-1)
				}
				inside.Add(-1)
				g.Leave(critical)
			}
		})
	}
	wg.Wait()
	require.Zero(t, over.Load())
	c, o := g.Inside()
	require.Zero(t, c)
	require.Zero(t, o)
	for range allocation {
		require.True(t, g.Enter(false), "no place is lost")
	}
	require.False(t, g.Enter(false))
}

// Shrinking below what is inside admits nothing until it has drained, also when
// requests leave at that moment.
func TestShrinkingBelowWhatIsInsideAdmitsNothingUntilItDrains(t *testing.T) {
	g := sized(5, 0)
	for range 5 {
		require.True(t, g.Enter(false))
	}
	g.Resize(2, 0)
	for left := 5; left > 0; left-- {
		if left < 2 {
			require.True(t, g.Enter(false))
			require.False(t, g.Enter(false))
			return
		}
		require.False(t, g.Enter(false), "%d inside", left)
		g.Leave(false)
	}
}

func TestShrinkingRacesWithLeaving(t *testing.T) {
	g := new(gate.Gate)
	for round := range 20_000 {
		g.Resize(5, 0)
		for range 5 {
			require.True(t, g.Enter(false))
		}
		var shrunk atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			g.Resize(2, 0)
			shrunk.Store(true)
		})
		wg.Go(func() {
			for range 4 {
				g.Leave(false)
			}
		})
		for range 6 {
			seen := shrunk.Load()
			if g.Enter(false) {
				_, o := g.Inside()
				if seen && o > 2 {
					t.Fatalf("round %d: %d inside after the shrink to 2 was seen", round, o)
				}
				g.Leave(false)
			}
		}
		wg.Wait()
		_, o := g.Inside()
		require.Equal(t, 1, o)
		require.True(t, g.Enter(false))
		require.False(t, g.Enter(false))
		g.Leave(false)
		g.Leave(false)
	}
}
