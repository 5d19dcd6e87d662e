package key_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/weir-go/weir/key"
)

func TestSpellingsOfOneAccountFoldToOneName(t *testing.T) {
	for want, spellings := range map[string][]string{
		"victim@x.org": {
			"victim@x.org", "ViCtIm@X.org", " victim@x.org ", "victim@x.org\x00", "\tvictim@x.org\r\n", "vic\x00tim@x.org",
			"victim@x.org\u200b", "vic\u00adtim@x.org", "\ufeffvictim@x.org", "\uff56ictim@x.org", "\u00a0victim@x.org", "victim@x.org\ufe0f",
		},
		"ren\u00e9":   {"ren\u00e9", "rene\u0301", "REN\u00c9", "RENE\u0301"},
		"strasse":     {"stra\u00dfe", "STRASSE", "Stra\u1e9ee"},
		"a\ufffdb":    {"a\xffb", "A\xfe\xffb", "a\ufffdb"},
		"\u03c3":      {"\u03a3", "\u03c2", "\u03c3"},
		"two  blanks": {"Two  Blanks"},
		"":            {"", " ", "\x00", "\u200b \u200b"},
	} {
		for _, s := range spellings {
			require.Equal(t, want, key.Fold(s), "%q", s)
		}
	}
	require.NotEqual(t, key.Fold("a.b@x.org"), key.Fold("ab@x.org"), "what a provider ignores is not for this fold")
}

func TestFoldingTwiceChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "text") {
			s = rapid.String().Draw(t, "text")
		}
		once := key.Fold(s)
		require.Equal(t, once, key.Fold(once), "%q", s)
	})
}

func TestFoldedNamesAllocateNothing(t *testing.T) {
	require.Zero(t, testing.AllocsPerRun(100, func() { sink = len(key.Fold("victim@example.org")) }))
}
