package ladder

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The verdict by place in the tier, for every place there is: with the hash out
// of the way the counts are exact.
func TestShedCountsAreExact(t *testing.T) {
	w := MakeWord(1.4, 0)
	var shed [Tiers]int
	for tier := range Tiers {
		for place := range uint64(tierOne) {
			if w.Sheds(tier, cohortAt(place)) {
				shed[tier]++
			}
		}
	}
	require.Equal(t, [Tiers]int{65536, 26214, 0, 0}, shed)
}

// cohortAt is a cohort with the given place under salt 0: the mix undone.
func cohortAt(place uint64) uint64 {
	x := place << 48
	x *= inverse(0xbb67ae8584caa73b)
	x = unshift(x, 29)
	x *= inverse(0x6a09e667f3bcc909)
	x = unshift(x, 32)
	return x ^ 0x9e3779b97f4a7c15
}

// inverse is that of an odd number modulo 2^64, by Newton's iteration.
func inverse(odd uint64) uint64 {
	inv := odd
	for range 6 {
		inv *= 2 - odd*inv
	}
	return inv
}

// unshift undoes x ^ x>>by.
func unshift(x uint64, by uint) uint64 {
	out := x
	for range 64 / by {
		out = x ^ out>>by
	}
	return out
}

func TestEveryPlaceHasItsCohort(t *testing.T) {
	for place := range uint64(tierOne) {
		require.Equal(t, uint32(place), position(cohortAt(place), 0))
	}
}
