package key_test

import (
	"testing"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/collide"
)

// XXH64 collides at will, for some keys under every seed; the half that tells
// callers apart does not.
func TestConstructedCollisionsShareOnlyThePublicHalf(t *testing.T) {
	keys := collide.Keys(2000)
	for _, p := range collide.Pairs(20) {
		for _, seed := range []uint64{0, 1, 0xdeadbeef, 1<<64 - 1} {
			require.Equal(t, seeded(seed, p[0]), seeded(seed, p[1]))
		}
		keys = append(keys, p[0], p[1])
	}
	for name, h := range hashers {
		t.Run(name, func(t *testing.T) {
			private, public := map[uint64]bool{}, map[uint64]bool{}
			inParts := map[uint64]bool{}
			for _, s := range keys {
				k := h.Key(s)
				private[k.H], public[k.P] = true, true
				inParts[h.Key("tenant", s, "route").H] = true
			}
			require.Len(t, private, 2040)
			require.Len(t, inParts, 2040)
			require.Len(t, public, 21)
		})
	}
}

func seeded(seed uint64, s string) uint64 {
	d := xxhash.NewWithSeed(seed)
	_, _ = d.WriteString(s)
	return d.Sum64()
}

// Tag, line and shard are made of disjoint or overlapping bits of H: each bit is
// as good as the other, also over keys that differ little.
func TestEveryBitOfThePrivateHalfIsEven(t *testing.T) {
	for name, h := range hashers {
		t.Run(name, func(t *testing.T) {
			const n = 1 << 14
			var ones [64]int
			for i := range n {
				k := h.Key("user", string([]byte{byte(i), byte(i >> 8)})).H
				for b := range ones {
					ones[b] += int(k >> b & 1)
				}
			}
			for b, c := range ones {
				// Six standard deviations of n/4.
				require.InDelta(t, n/2, c, 6*64, "bit %d", b)
			}
		})
	}
}
