package shard

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Homes lie inside their shard and spread over all of its lines and over all
// shards.
func TestHomesSpreadOverTheTable(t *testing.T) {
	tab := New(20_000, nil)
	require.Greater(t, len(tab.mus), 1)
	rnd := rand.New(rand.NewPCG(1, 1))
	hit := map[uint64]int{}
	n := int(tab.perShard) * len(tab.mus)
	for range 40 * n {
		shard, first, in := tab.home(rnd.Uint64())
		if shard >= uint64(len(tab.mus)) || first != shard*tab.perShard || in >= tab.perShard {
			t.Fatalf("shard %d, from line %d, line %d of %d", shard, first, in, tab.perShard)
		}
		hit[first+in]++
	}
	require.Len(t, hit, n, "lines that are nobody's home")
	for ln, k := range hit {
		if k > 100 {
			t.Fatalf("line %d is the home of %d of 40 keys", ln, k)
		}
	}
}
