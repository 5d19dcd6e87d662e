package shard_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/key"
	"github.com/weir-go/weir/shard"
)

// put makes the n-th entry of the search the key's.
func put(t *shard.Wide, k key.Key, limit uint32, n uint64, w uint64) *shard.Entry {
	e := &t.Entries[t.Slot(t.Place(k.H^shard.Salt(limit)), n)]
	e.H.Store(k.H)
	e.P.Store(k.P)
	e.Limit.Store(limit)
	e.Word.Store(w)
	return e
}

// An entry is a key's by all of its identity, and a limit's.
func TestAnEntryIsOneKeysAndOneLimits(t *testing.T) {
	tab := shard.NewWide(256, 4, 2)
	k := key.Key{H: 0x123456789abcdef, P: 77}
	const limit = 3
	word := uint64(5<<56 | 99)
	for n := range uint64(shard.Window) {
		e := put(&tab, k, limit, n, word)
		x, w, ok := tab.Seek(k, limit)
		require.True(t, ok)
		require.Same(t, e, x)
		require.Equal(t, word, w)
		require.Equal(t, k, e.Key())
		i, _, ok := tab.Find(k, limit)
		require.True(t, ok)
		require.Equal(t, i, tab.Index(e))
		require.Equal(t, n == 0, tab.Home(k.H^shard.Salt(limit)) == e)
		for _, look := range []func(key.Key, uint32) (uint64, bool){e.Look, e.Read} {
			_, ok = look(k, limit)
			require.True(t, ok)
			for _, other := range []key.Key{{H: k.H, P: k.P + 1}, {H: k.H + 1, P: k.P}} {
				_, ok = look(other, limit)
				require.False(t, ok)
			}
			_, ok = look(k, limit+1)
			require.False(t, ok)
			e.Word.Store(6<<56 | bucket.Frozen)
			_, ok = look(k, limit)
			require.False(t, ok, "while it changes hands")
			e.Word.Store(word)
		}
		e.Limit.Store(0)
		_, _, ok = tab.Find(k, limit)
		require.False(t, ok)
	}
	require.EqualValues(t, 64, unsafe.Sizeof(shard.Entry{}))
}

// The search never leaves its region, nor reaches the spare entries.
func TestTheSearchStaysInItsRegion(t *testing.T) {
	tab := shard.NewWide(256, 4, 2)
	for h := range uint64(5000) {
		home := tab.Place(h * 0x9e3779b97f4a7c15)
		require.Less(t, home, uint64(256))
		for n := range uint64(shard.Window) {
			require.Equal(t, tab.Region(home), tab.Region(uint64(tab.Slot(home, n))))
		}
	}
	require.EqualValues(t, 4, tab.Region(256), "that of the spare ones")
}

// What a hasher is told to ask for is the entry that is looked at first.
func TestAHasherAsksForTheEntryThatIsLookedAt(t *testing.T) {
	tab := shard.NewWide(256, 4, 2)
	for limit := range uint32(5) {
		homes := tab.Homes(limit)
		for i := range uint64(1000) {
			h := i * 0x9e3779b97f4a7c15
			at := key.Line(h^homes.Salt, homes.N)
			require.Less(t, at, uint64(256))
			require.Same(t, &tab.Entries[at], tab.Home(h^shard.Salt(limit)))
			require.Equal(t, unsafe.Pointer(&tab.Entries[at]), unsafe.Add(homes.First, at*uint64(unsafe.Sizeof(shard.Entry{}))))
		}
	}
}

// What is spent with the word of another life does not count.
func TestTokensOfAnotherLifeDoNotCount(t *testing.T) {
	var e shard.Entry
	e.Cum.Store(7<<56 | 10)
	e.Spent(7<<56|1234, 3)
	require.Equal(t, uint64(7<<56|13), e.Cum.Load())
	e.Spent(6<<56|1234, 3)
	require.Equal(t, uint64(7<<56|13), e.Cum.Load())
	e.Spent(7<<56, -3)
	require.Equal(t, uint64(7<<56|10), e.Cum.Load())
}
