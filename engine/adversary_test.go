package engine_test

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// The constants of XXH64 and the inverses, modulo 2^64, of its first two.
const (
	xxPrime1 = 0x9E3779B185EBCA87
	xxPrime2 = 0xC2B2AE3D27D4EB4F
	xxPrime4 = 0x85EBCA77C2B2AE63
	xxPrime5 = 0x27D4EB2F165667C5
)

// inverse of an odd number modulo 2^64, by Newton's method.
func inverse(p uint64) uint64 {
	x := p
	for range 6 {
		x *= 2 - p*x
	}
	return x
}

// xxRound is what XXH64 makes of eight bytes before it mixes them in; unround
// undoes it.
func xxRound(k uint64) uint64 { return bits.RotateLeft64(k*xxPrime2, 31) * xxPrime1 }

func unround(r uint64) uint64 {
	return bits.RotateLeft64(r*inverse(xxPrime1), -31) * inverse(xxPrime2)
}

// part is the key part made of these words of eight bytes.
func part(words ...uint64) string {
	var b []byte
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return string(b)
}

// twins returns two parts whose XXH64 agrees whatever the seed: the difference
// of one word becomes the top bit after one step, and that of the next cancels
// it.
func twins(rnd *rand.Rand) (a, b string) {
	k1, k2 := rnd.Uint64(), rnd.Uint64()
	return part(k1, k2), part(unround(xxRound(k1)^1<<36), unround(xxRound(k2)^1<<63))
}

// siblings returns n different printable parts with one XXH64: the first word is
// chosen freely, the second is solved for.
func siblings(n int, rnd *rand.Rand) (parts []string) {
	const target = 0x0123456789abcdef // what both words together leave
	h0 := uint64(xxPrime5)
	h0 += 16 // the length
	for len(parts) < n {
		var first [8]byte
		for i := range first {
			first[i] = byte('!' + rnd.IntN(94))
		}
		k1 := binary.LittleEndian.Uint64(first[:])
		h1 := bits.RotateLeft64(h0^xxRound(k1), 27)*xxPrime1 + xxPrime4
		if p := part(k1, unround(h1^target)); printable(p) {
			parts = append(parts, p)
		}
	}
	return parts
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < '!' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Whoever builds keys that collide in the public hash drains their own bucket
// and nobody else's.
func TestKeysThatCollideInThePublicHashShareNothing(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, secret := range [][]byte{nil, []byte("0123456789abcdef")} {
		cfg := limits(tokens("api", 1, time.Hour, 5))
		cfg.Secret = secret
		f := start(t, cfg)
		for i := range 20 {
			a, b := twins(rnd)
			if i%2 == 1 {
				a, b = b, a
			}
			ka, kb := f.Key(a), f.Key(b)
			require.NotEqual(t, a, b)
			require.Equal(t, ka.P, kb.P, "the construction works")
			require.Equal(t, ka.P, xxhash.Sum64String(a))
			require.NotEqual(t, ka.H, kb.H)
			require.Equal(t, 5, f.admitted("api", a, 20))
			require.Equal(t, 5, f.admitted("api", b, 20), "the attacker drained the victim's bucket")
		}
	}
}

// Two thousand printable keys with one public hash are two thousand keys: each
// has its own bucket, none overflows, and finding them costs what any key costs.
func TestManyKeysOfOnePublicHashLieApart(t *testing.T) {
	const n = 2000
	cfg := limits(tokens("api", 1, time.Hour, 1))
	cfg.MaxEntries = 1 << 20
	f := start(t, cfg)
	parts := siblings(n, rand.New(rand.NewPCG(2, 2)))
	distinct := map[string]bool{}
	for _, p := range parts {
		distinct[p] = true
		require.Equal(t, f.Key(parts[0]).P, f.Key(p).P)
	}
	require.Len(t, distinct, n)
	for _, p := range parts {
		require.True(t, f.take("api", p, 1).OK())
	}
	for _, p := range parts {
		require.False(t, f.take("api", p, 1).OK())
	}
	require.Zero(t, f.Snapshot().Limits[0].Overflow)

	id, _ := f.Limit("api")
	lap := func(ks []key.Key) time.Duration {
		start := time.Now()
		for _, k := range ks {
			tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(k)}})
			tk.Done(engine.Success)
		}
		return time.Since(start)
	}
	var crafted, ordinary []key.Key
	for i, p := range parts {
		crafted = append(crafted, f.Key(p))
		ordinary = append(ordinary, f.Key("user", fmt.Sprint(i)))
	}
	lap(ordinary)
	best := [2]time.Duration{time.Hour, time.Hour}
	for range 30 {
		best[0], best[1] = min(best[0], lap(crafted)), min(best[1], lap(ordinary))
	}
	require.Less(t, best[0], 2*best[1]+100*time.Microsecond, "crafted keys cost %v, ordinary ones %v", best[0], best[1])
}

// More keys than the table holds, in a circle: nobody gets a second burst by
// making the table forget the first.
func TestRotatingKeysBuyNoFreshBursts(t *testing.T) {
	for _, overflow := range []engine.Overflow{engine.OverflowShared, engine.OverflowClosed} {
		l := tokens("api", 1, time.Hour, 1)
		l.Overflow = overflow
		f := start(t, engine.Config{Limits: []engine.Limit{l}, MaxEntries: 1000})
		require.True(t, f.take("api", "victim", 1).OK())
		ok := 0
		for range 10 {
			for i := range 2000 {
				if f.take("api", fmt.Sprint(i), 1).OK() {
					ok++
				}
			}
		}
		require.LessOrEqual(t, ok, 2000)
		require.Positive(t, f.Snapshot().Limits[0].Overflow)
		for i := range 100_000 {
			f.take("api", fmt.Sprint("flood", i), 1)
		}
		require.False(t, f.take("api", "victim", 1).OK(), "a drained key in the table stays drained")
	}
}

// What a limit does with keys that do not fit is its policy, and counted.
func TestAFullTableFollowsTheOverflowPolicy(t *testing.T) {
	for overflow, want := range map[engine.Overflow]engine.Decision{
		engine.OverflowOpen:   {Limit: 2, Remaining: 5},
		engine.OverflowClosed: {Reason: engine.Closed, Layer: engine.Rate, Limit: 2, RetryAfter: time.Second},
	} {
		l := tokens("late", 1, time.Hour, 5)
		l.Overflow = overflow
		f := start(t, engine.Config{Limits: []engine.Limit{inFlight("fill", 1), l}, MaxEntries: 100})
		var held []*engine.Ticket
		for i := range 3000 {
			tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("fill", fmt.Sprint(i), 1)}})
			held = append(held, &tk)
		}
		for i := range 20 {
			require.Equal(t, want, f.take("late", fmt.Sprint(i), 1), "overflow policy %d", overflow)
		}
		require.EqualValues(t, 20, f.Snapshot().Limits[1].Overflow)
		for _, tk := range held {
			tk.Done(engine.Success)
		}
		require.Equal(t, int64(4), f.take("late", "anybody", 1).Remaining, "there is room again")
	}
}

// A storm of one-shot keys changes nothing for a steady user beside it, and the
// memory stays what it was when the engine was made.
func TestAKeyStormChangesNothingForASteadyUser(t *testing.T) {
	decisions := func(storm int) (out []engine.Decision, s engine.Snapshot) {
		f := start(t, engine.Config{Limits: []engine.Limit{tokens("api", 1, time.Second, 20)}, MaxEntries: 10_000})
		id, _ := f.Limit("api")
		steady, n := f.Key("steady"), 0
		f.take("api", "steady", 2) // known before the storm begins
		for range 100 {
			for range storm / 100 {
				n++
				tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(f.Key("one-shot", fmt.Sprint(n)))}})
				tk.Done(engine.Success)
			}
			for range 3 {
				tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(steady)}})
				out = append(out, tk.Decision())
				tk.Done(engine.Success)
			}
			f.clock.Advance(100 * time.Millisecond)
		}
		return out, f.Snapshot()
	}
	alone, quiet := decisions(0)
	flooded, s := decisions(stormKeys())
	require.Equal(t, alone, flooded)
	require.Equal(t, quiet.Table.Bytes, s.Table.Bytes)
	require.Positive(t, s.Limits[0].Overflow)
}
