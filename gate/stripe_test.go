package gate_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/gate"
)

// parted is a gate with so many stripes.
func parted(stripes, allocation int) (*gate.Gate, []gate.Stripe) {
	g, ways := new(gate.Gate), make([]gate.Stripe, stripes)
	for i := range ways {
		g.Join(&ways[i])
	}
	g.Resize(allocation, 0)
	return g, ways
}

// Wherever places lie, the answers are those of two counters: by any way in and
// out, apart and together, held and released, shrunk and grown.
func TestHistoriesWithPlacesApartAgreeWithTwoCounters(t *testing.T) {
	apart := 0
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		m := model{allocation: rnd.IntN(20)}
		g, ways := parted(1+rnd.IntN(3), m.allocation)
		way := func() *gate.Stripe { return &ways[rnd.IntN(len(ways))] }
		held := false
		for range 500 {
			critical := rnd.IntN(3) == 0
			inside := &m.other
			if critical {
				inside = &m.critical
			}
			switch rnd.IntN(16) {
			case 0:
				m.allocation, m.hardCap = rnd.IntN(20), max(0, rnd.IntN(40)-20)
				g.Resize(m.allocation, m.hardCap)
			case 1:
				g.Hold()
				held = true
			case 2:
				g.Release()
				held = false
			case 3:
				g.Spread()
			case 4:
				g.SpreadAnyway()
			case 5:
				if held {
					within := model{m.critical, m.other, rnd.IntN(20), rnd.IntN(30)}
					require.Equal(t, within.enter(critical), g.EnterWithin(critical, within.allocation, within.hardCap))
					m.critical, m.other = within.critical, within.other
				}
			case 6:
				fits := m
				require.Equal(t, fits.enter(critical), g.Fits(critical), "seed %d, %+v", seed, m)
			case 7:
				require.Equal(t, m.enter(critical), g.Enter(critical), "seed %d, %+v", seed, m)
			case 8:
				if *inside > 0 {
					*inside--
					g.Leave(critical)
				}
			case 9, 10, 11:
				if *inside > 0 {
					*inside--
					g.LeaveBy(way(), critical)
				}
			default:
				require.Equal(t, m.enter(critical), g.EnterBy(way(), critical), "seed %d, %+v", seed, m)
			}
			if g.Apart() {
				apart++
				require.False(t, held)
				require.Zero(t, m.hardCap)
			}
			c, o := g.Inside()
			require.Equal(t, [2]int{m.critical, m.other}, [2]int{c, o}, "seed %d", seed)
			require.Equal(t, m.other, g.Others())
		}
	}
	require.Greater(t, apart, 10_000, "places lay apart")
}

// Places go apart only where there is plenty of room, for a quarter of all and a
// few for every stripe, and neither a hard cap nor somebody who holds them.
func TestPlacesGoApartOnlyWithPlentyOfRoom(t *testing.T) {
	g := sized(1000, 0)
	g.Spread()
	require.False(t, g.Apart(), "a gate without stripes")

	g, _ = parted(2, 7)
	g.Spread()
	require.False(t, g.Apart(), "7 places are less than a few for each stripe")
	g, _ = parted(2, 8)
	g.Spread()
	require.True(t, g.Apart())

	g, _ = parted(2, 100)
	for range 76 {
		require.True(t, g.Enter(false))
	}
	g.Spread()
	require.False(t, g.Apart(), "24 left of 100")
	g.Leave(false)
	g.Spread()
	require.True(t, g.Apart(), "25 left of 100")

	g, _ = parted(2, 100)
	g.Resize(100, 1000)
	g.Spread()
	require.False(t, g.Apart(), "a hard cap")
	g.Resize(100, 0)
	g.Hold()
	g.Spread()
	require.False(t, g.Apart(), "held")
	g.Release()
	g.Spread()
	require.True(t, g.Apart())
	g.Resize(101, 0)
	require.False(t, g.Apart(), "a resize gathers")
	g.Spread()
	g.Hold()
	require.False(t, g.Apart(), "so does who holds")

	g, _ = parted(2, 0)
	g.SpreadAnyway()
	require.False(t, g.Enter(false), "no place is for others")
	require.True(t, g.Enter(true))
}

// A place that lies in one stripe is found by whoever comes by another, and the
// stripes are gathered for that once and not again before they are spread.
func TestAPlaceIsFoundInWhateverStripe(t *testing.T) {
	g, ways := parted(3, 2)
	g.SpreadAnyway()
	require.True(t, g.EnterBy(&ways[0], false))
	require.True(t, g.EnterBy(&ways[0], false))
	g.LeaveBy(&ways[1], false)
	g.LeaveBy(&ways[2], false)
	require.True(t, g.Apart())
	require.True(t, g.EnterBy(&ways[1], false), "it lies here")
	require.True(t, g.Apart())
	require.True(t, g.EnterBy(&ways[0], false), "it lies there")
	require.False(t, g.Apart())
	require.False(t, g.EnterBy(&ways[2], false))
}

// Whatever the interleaving, with places going apart and coming together all the
// time, those inside never exceed what they may be: everyone who is inside counts
// themselves after entering and before leaving.
func TestCapsHoldWithPlacesApart(t *testing.T) {
	const allocation, callers = 3, 6
	g, ways := parted(4, allocation)
	var others, over, refused, miscounted, transitions atomic.Int64
	var callersDone atomic.Bool
	var wg, spreading sync.WaitGroup
	spreading.Go(func() {
		for i := 0; !callersDone.Load(); i++ {
			if !g.Apart() {
				transitions.Add(1)
				g.SpreadAnyway()
			}
			if c, o := g.Inside(); c < 0 || o < 0 {
				miscounted.Add(1)
			}
			if i%64 == 0 {
				g.Hold()
				if c, o := g.Inside(); c < 0 || c > callers || o < 0 || o > allocation {
					miscounted.Add(1)
				}
				g.Release()
			}
			runtime.Gosched()
		}
	})
	for i := range callers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 3))
			for range 20_000 {
				critical := i%3 == 0
				in, out := &ways[rnd.IntN(4)], &ways[rnd.IntN(4)]
				if !g.EnterBy(in, critical) {
					if critical {
						refused.Add(1)
					}
					continue
				}
				if !critical {
					if others.Add(1) > allocation {
						over.Add(1)
					}
					others.Add(-1)
				}
				g.LeaveBy(out, critical)
			}
		})
	}
	wg.Wait()
	callersDone.Store(true)
	spreading.Wait()
	require.Zero(t, over.Load(), "inside beyond the allocation")
	require.Zero(t, refused.Load(), "critical requests refused")
	require.Zero(t, miscounted.Load(), "counts that cannot be")
	require.Positive(t, transitions.Load())
	c, o := g.Inside()
	require.Zero(t, c)
	require.Zero(t, o)
	for i := range allocation {
		require.True(t, g.EnterBy(&ways[i], false), "no place is lost")
	}
	require.False(t, g.EnterBy(&ways[0], false))
}

// With a place for every caller nobody is ever refused, however the places move.
func TestNobodyIsRefusedWhileAPlaceMoves(t *testing.T) {
	const callers = 4
	g, ways := parted(callers, callers)
	var refused atomic.Int64
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for n := range 20_000 {
				if n%16 == i {
					g.SpreadAnyway()
				}
				if !g.EnterBy(&ways[(i+n)%callers], false) {
					refused.Add(1)
					continue
				}
				g.LeaveBy(&ways[i*n%callers], false)
			}
		})
	}
	wg.Wait()
	require.Zero(t, refused.Load(), "there was always a place")
	require.Zero(t, g.Others())
}

// Sizes beyond what can be inside are as good as none; the words do not run into
// each other.
func TestTheLargestSizes(t *testing.T) {
	const most = 1<<31 - 1
	g, ways := parted(1, most)
	g.Spread()
	require.True(t, g.Apart())
	for range 3 {
		require.True(t, g.EnterBy(&ways[0], false))
		require.True(t, g.EnterBy(&ways[0], true))
	}
	for _, hard := range []int{most, 0, 7} {
		g.Resize(most, hard)
		a, h := g.Limits()
		require.Equal(t, [2]int{most, hard}, [2]int{a, h})
		c, o := g.Inside()
		require.Equal(t, [2]int{3, 3}, [2]int{c, o})
	}
	require.True(t, g.Enter(true))
	require.False(t, g.Enter(true), "7 of 7")
	g.Resize(0, most)
	require.False(t, g.Enter(false))
	require.True(t, g.Enter(true))
	c, o := g.Inside()
	require.Equal(t, [2]int{5, 3}, [2]int{c, o})
	g.Hold()
	require.False(t, g.EnterWithin(false, -1, 0), "a lease of less than nothing")
	require.False(t, g.EnterWithin(true, 0, -1))
}
