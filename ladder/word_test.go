package ladder_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/ladder"
)

func TestNothingIsShedAtLevelZero(t *testing.T) {
	for _, level := range []float64{0, -1, math.NaN(), math.Inf(-1), 1e-9} {
		for tier := range ladder.Tiers {
			require.False(t, ladder.MakeWord(level, 1).Sheds(tier, 1))
		}
	}
	require.False(t, ladder.Word(0).Sheds(0, 0), "the zero word")
}

func TestCriticalIsNeverShedUpToThree(t *testing.T) {
	w := ladder.MakeWord(3, math.MaxUint32)
	for cohort := range uint64(1 << 16) {
		require.True(t, w.Sheds(0, cohort))
		require.True(t, w.Sheds(2, cohort))
		require.False(t, w.Sheds(3, cohort))
	}
	require.True(t, ladder.MakeWord(4, 0).Sheds(3, 1))
	require.Equal(t, ladder.MakeWord(4, 0), ladder.MakeWord(math.Inf(1), 0))
}

func TestATierThatIsNoneIsNotShed(t *testing.T) {
	require.False(t, ladder.MakeWord(4, 0).Sheds(-1, 0))
	require.False(t, ladder.MakeWord(4, 0).Sheds(ladder.Tiers, 0))
}

// Raising the level only adds: whoever is shed stays shed.
func TestShedSetGrowsWithTheLevel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		low, high := 4*rng.Float64(), 4*rng.Float64()
		low, high = min(low, high), max(low, high)
		salt, tier, cohort := rng.Uint32(), rng.IntN(ladder.Tiers), rng.Uint64()
		if ladder.MakeWord(low, salt).Sheds(tier, cohort) {
			require.True(t, ladder.MakeWord(high, salt).Sheds(tier, cohort),
				"levels %v %v salt %d tier %d cohort %d", low, high, salt, tier, cohort)
		}
	}
}

// The share that is shed is the level's fraction, whatever the cohorts look
// like, and another salt picks others.
func TestSharesAreFairForAnyCohortsAndSalts(t *testing.T) {
	const n = 1 << 16
	rng := rand.New(rand.NewPCG(5, 6))
	for name, cohort := range map[string]func(i uint64) uint64{
		"counting":  func(i uint64) uint64 { return i },
		"high bits": func(i uint64) uint64 { return i << 48 },
		"even":      func(i uint64) uint64 { return 2 * i },
		"random":    func(uint64) uint64 { return rng.Uint64() },
	} {
		for _, salt := range []uint32{0, 1, 2, 1 << 31, math.MaxUint32} {
			w, next := ladder.MakeWord(1.3, salt), ladder.MakeWord(1.3, salt+1)
			shed, both := 0, 0
			for i := range uint64(n) {
				c := cohort(i)
				if w.Sheds(1, c) {
					shed++
					if next.Sheds(1, c) {
						both++
					}
				}
			}
			sd := math.Sqrt(n * 0.3 * 0.7)
			require.InDelta(t, 0.3*n, float64(shed), 5*sd, "%s cohorts, salt %d", name, salt)
			require.InDelta(t, 0.09*n, float64(both), 6*sd, "%s cohorts, salts %d and the next", name, salt)
		}
	}
}

// The same on every machine and in every version: a fleet sheds the same users.
func TestVerdictsAreStable(t *testing.T) {
	var got uint64
	for i := range uint64(64) {
		if ladder.MakeWord(1.5, 42).Sheds(1, i*0x9e3779b97f4a7c15) {
			got |= 1 << i
		}
	}
	require.Equal(t, uint64(0x4b02caeaa848e460), got)
}
