package key_test

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/key"
)

// The public half of one part is the XXH64 of its text, whatever its length and
// wherever it lies: that of a short text is written out here.
func TestThePublicHalfIsTheXXH64OfOnePart(t *testing.T) {
	const longest, alignments = 100, 16
	rnd := rand.New(rand.NewPCG(3, 9))
	random := make([]byte, longest+alignments)
	for i := range random {
		random[i] = byte(rnd.Uint32())
	}
	text := string(random)
	for name, h := range hashers {
		t.Run(name, func(t *testing.T) {
			for n := range longest + 1 {
				for at := range alignments {
					part := text[at : at+n]
					require.Equal(t, xxhash.Sum64String(part), h.Key(part).P, "%d bytes at %d", n, at)
				}
			}
		})
	}
}

// A hasher that has been told of a table makes the same keys as before, of no part,
// one or more, and neither allocates nor writes.
func TestKeysAreTheSameWithATableToAskFor(t *testing.T) {
	type line [64]byte
	parts := [][]string{{}, {""}, {"u"}, {"user:12345678"}, {strings.Repeat("x", 31)}, {strings.Repeat("x", 32)}, {"acme", "GET"}, {"a", "b", ""}}
	for name, h := range hashers {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 2, 1000} {
				table := make([]line, n)
				ahead := h
				lines := key.Lines{First: unsafe.Pointer(unsafe.SliceData(table)), N: uint64(n)}
				salted := lines
				salted.Salt = 0x9e3779b97f4a7c15
				ahead.Ahead(lines, [...]key.Lines{{}, salted}[n%2])
				for _, p := range parts {
					require.Equal(t, h.Key(p...), ahead.Key(p...), "%q", p)
				}
				require.Zero(t, testing.AllocsPerRun(100, func() { keySink = ahead.Key("user:12345678") }))
				require.Equal(t, make([]line, n), table)
				runtime.KeepAlive(table)
			}
		})
	}
}
