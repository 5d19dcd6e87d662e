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

// There are as many shards as have 64 lines each, a power of two, at most 64;
// and the memory is that of the lines, of how far keys lie from home, and of a
// cache line for each mutex.
func TestTheTableIsAsLargeAsItSays(t *testing.T) {
	for entries, shards := range map[int]int{1: 1, 100: 1, 304: 1, 305: 2, 9_828: 32, 9_829: 64, 1 << 20: 64} {
		tab := New(entries, nil)
		require.Len(t, tab.mus, shards, "%d entries", entries)
		require.GreaterOrEqual(t, len(tab.lines)*slotsPerLine*6, entries*10)
		require.Equal(t, len(tab.lines)*64+len(tab.reach)*8+shards*64, tab.Bytes())
	}
}

// A retired id comes free after two whole sweeps that found no word of it; one
// word that is left, once, begins them again.
func TestARetiredIDWaitsForItsLastWord(t *testing.T) {
	var x ids
	x.used[7], x.wait[7] = true, retireSweeps
	none, one := [maxIDs]int{}, [maxIDs]int{7: 1}
	for _, found := range []*[maxIDs]int{&one, &none, &one, &none} {
		x.swept(found)
		require.True(t, x.used[7])
	}
	x.swept(&none)
	require.False(t, x.used[7])
}
