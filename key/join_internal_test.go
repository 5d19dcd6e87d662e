package key

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// One part alone takes a shorter way, to the same key; an empty one, wherever its
// text would lie, is a part like any other.
func TestOnePartIsAListOfOne(t *testing.T) {
	for name, h := range map[string]Hasher{"random": NewHasher(nil), "secret": NewHasher([]byte("sixteen bytes ok"))} {
		t.Run(name, func(t *testing.T) {
			for _, part := range []string{"", "a", "sixteen bytes ok", strings.Repeat("x", 300)} {
				require.Equal(t, h.join([]string{part}), h.Key(part))
			}
			text := "abc"
			require.Equal(t, h.Key(""), h.Key(text[3:]))
			require.Equal(t, h.Key("", text), h.Key(text[:0], "abc"))
			require.NotZero(t, h.Key("").H)
			other := NewHasher(nil)
			require.NotEqual(t, other.Key("").H, h.Key("").H, "an empty part is keyed as well")
			require.NotEqual(t, other.Key().H, h.Key().H, "and so is none")
		})
	}
}
