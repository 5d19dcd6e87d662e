package workload

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"

	"github.com/weir-go/weir/key"
)

// Floor is the least that a check of a key can do on this machine: hash the
// text, touch one cache line, swap one word. It has weir's memory layout and
// none of its logic: no tag is told from another, nothing is decided.
type Floor struct {
	lines  [][8]uint64
	hasher key.Hasher
	seed   maphash.Seed
}

// NewFloor returns a floor with as many lines as the table of a rig for so many
// keys with one state each: 4 to a line, 60 % full, and roomy where keys are few.
func NewFloor(keys int) *Floor {
	return &Floor{
		lines:  make([][8]uint64, max(keys, Roomy)*10/6/4),
		hasher: key.NewHasher(nil),
		seed:   maphash.MakeSeed(),
	}
}

// Bare hashes the text once, with maphash.
func (f *Floor) Bare(text string) bool { return f.touch(maphash.String(f.seed, text)) }

// Identity makes weir's 128-bit identity of the text, from which one word would
// suffice here.
func (f *Floor) Identity(text string) bool {
	k := f.hasher.Key(text)
	return f.touch(k.H ^ k.P&1)
}

// touch loads a slot's tag and swaps its word.
func (f *Floor) touch(h uint64) bool {
	i, _ := bits.Mul64(h, uint64(len(f.lines)))
	line := &f.lines[i]
	slot := h & 6
	tag := atomic.LoadUint64(&line[slot])
	word := atomic.LoadUint64(&line[slot|1])
	return atomic.CompareAndSwapUint64(&line[slot|1], word, word+1+tag)
}
