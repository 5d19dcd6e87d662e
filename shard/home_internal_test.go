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
		require.Less(t, shard, uint64(len(tab.mus)))
		require.Equal(t, shard*tab.perShard, first)
		require.Less(t, in, tab.perShard)
		hit[first+in]++
	}
	require.Len(t, hit, n, "lines that are nobody's home")
	for _, k := range hit {
		require.Less(t, k, 100)
	}
}
