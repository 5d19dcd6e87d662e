package fuzz

import (
	"bytes"
	"slices"
	"testing"

	"github.com/weir-go/weir/key"
)

// Different lists of parts are different keys, equal ones are one key, whatever
// is in the parts and however they are cut.
func FuzzKeys(f *testing.F) {
	for _, seed := range []string{
		"\x02\x03did:key:abc\x01s", "\x02\x07did:key\x05abc:s", "\x02\x02aab", "\x02\x01aab",
		"\x02\x01a", "\x02\x00a", "\x03||\x00\x00", "\x05\x00\x00\x00\x00\x00",
	} {
		f.Add([]byte(seed))
	}
	hashers := []key.Hasher{key.NewHasher(nil), key.NewHasher(bytes.Repeat([]byte("s"), 16))}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := &tape{b}
		cut := func() (parts []string) {
			for range in.n(5) {
				parts = append(parts, in.text(40))
			}
			return parts
		}
		first, second := cut(), cut()
		if len(second) == 0 && len(first) > 1 {
			// The same text, cut elsewhere: the mistake that composite keys make.
			second = append([]string{first[0] + first[1]}, first[2:]...)
		}
		for i := range hashers {
			h := &hashers[i]
			x, y := h.Key(first...), h.Key(second...)
			if same := slices.Equal(first, second); same != (x == y) {
				t.Fatalf("%q and %q: keys %x and %x", first, second, x, y)
			} else if !same && x.H == y.H {
				t.Fatalf("%q and %q share the keyed hash", first, second)
			}
		}
	})
}
