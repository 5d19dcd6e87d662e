package key_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weir-go/weir/key"
)

var hashers = map[string]key.Hasher{
	"random": key.NewHasher(nil),
	"secret": key.NewHasher([]byte("sixteen bytes ok")),
}

// Parts that read alike when they are joined are different identities.
func TestPartsAreNotJoinedByText(t *testing.T) {
	lists := [][]string{
		{"did:key:abc", "s"},
		{"did:key", "abc:s"},
		{"aa", "b"},
		{"a", "ab"},
		{"a", ""},
		{"", "a"},
		{"a"},
		{"a", "", ""},
		{},
		{""},
		{"a|b", "c"},
		{"a", "b|c"},
		{"a\x00", "b"},
		{"a", "\x00b"},
		{"\x01a", "b"},
		{"a\x01b"},
		{"\x01a\x01b"},
	}
	for name, h := range hashers {
		t.Run(name, func(t *testing.T) {
			seen := map[key.Key][]string{}
			for _, l := range lists {
				k := h.Key(l...)
				require.NotContains(t, seen, k, "%q", l)
				seen[k] = l
			}
		})
	}
}

func TestEqualPartsAreOneKeyAndOthersAreNot(t *testing.T) {
	parts := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune{0, 1, 'a', '|'}), 0, 80, -1), 0, 5)
	rapid.Check(t, func(t *rapid.T) {
		a, b := parts.Draw(t, "a"), parts.Draw(t, "b")
		same := len(a) == len(b)
		for i := 0; same && i < len(a); i++ {
			same = a[i] == b[i]
		}
		for _, h := range hashers {
			ka, kb := h.Key(a...), h.Key(b...)
			require.Equal(t, same, ka.H == kb.H)
			require.Equal(t, same, ka.P == kb.P)
			require.Equal(t, ka, h.Key(a...))
		}
	})
}

// The public half is the same in every process, the private half where the
// secret is the same.
func TestSecretMakesKeysAgreeAcrossProcesses(t *testing.T) {
	a, b := key.NewHasher([]byte("one secret of many")), key.NewHasher([]byte("one secret of many"))
	require.Equal(t, a.Key("user", "42"), b.Key("user", "42"))
	c, r := key.NewHasher([]byte("another secret")), key.NewHasher(nil)
	require.Equal(t, a.Key("user", "42").P, c.Key("user", "42").P)
	require.NotEqual(t, a.Key("user", "42").H, c.Key("user", "42").H)
	require.NotEqual(t, a.Key("user", "42").H, r.Key("user", "42").H)
}

// Both halves are what they were in every release: instances of one fleet may run
// two of them, and logs, ramps and shards outlast both.
func TestKeysAreTheSameInEveryRelease(t *testing.T) {
	h := hashers["secret"]
	for _, c := range []struct {
		is    key.Key
		parts []string
	}{
		{key.Key{H: 0x2c6f8b8898d05ddf, P: 0x0000000000000000}, []string{}},
		{key.Key{H: 0x75aa79598ff0d77e, P: 0xef46db3751d8e999}, []string{""}},
		{key.Key{H: 0x79f876c911a88f6f, P: 0x3da0fd9c44cfc9ee}, []string{"user"}},
		{key.Key{H: 0x9ccf0dc92ed70472, P: 0x9d22deae8eb87fac}, []string{"user", "42"}},
		{key.Key{H: 0x083a1828338639e0, P: 0x5827ce8da7ab7187}, []string{"user", "42", ""}},
		{key.Key{H: 0x5cfcdaffbca5e417, P: 0xe49d2856636e37c9}, []string{"acme", "GET", "/v1/charges"}},
	} {
		require.Equal(t, c.is, h.Key(c.parts...), "%q", c.parts)
	}
}

// However long the key material of a client is, all of it counts and none of it
// is kept.
func TestLongPartsDifferInTheirLastByte(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, h := range hashers {
		t.Run(name, func(t *testing.T) {
			require.NotEqual(t, h.Key(long+"a").H, h.Key(long+"b").H)
			require.NotEqual(t, h.Key(long+"a").P, h.Key(long+"b").P)
			for n := 150; n < 420; n++ { // around the sizes at which the way of hashing changes
				require.NotEqual(t, h.Key(long[:n]).H, h.Key(long[:n-1], "x").H)
				require.Equal(t, h.Key(long[:n]), h.Key(long[:n]))
			}
			require.Zero(t, testing.AllocsPerRun(10, func() { keySink = h.Key(long, "a") }))
			require.Zero(t, testing.AllocsPerRun(10, func() { keySink = h.Key("acme", "GET /v1/charges") }))
		})
	}
}

var keySink key.Key
