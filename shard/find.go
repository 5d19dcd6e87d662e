package shard

import (
	"github.com/weir-go/weir/bucket"
)

// None is the slot of a key that has none.
const None = ^uint32(0)

// Find returns the slot of a known key and its word as of one moment, or None.
func (t *Table) Find(h uint64, id uint8) (at uint32, word uint64) {
	shard, first, in := t.home(h)
	tag := tagOf(h, id)
	for {
		at, word = t.search(tag, first, in)
		if at == None || word&bucket.Payload != bucket.Frozen {
			return at, word
		}
		// The slot is changing hands: whoever does it holds the mutex.
		t.mus[shard].wait()
	}
}

// search looks at the home line and, past it, no further than a key of that
// home has ever lain.
func (t *Table) search(tag, first, in uint64) (uint32, uint64) {
	if at, w := t.scan(tag, first+in); at != None {
		return at, w
	}
	for i, n := uint64(1), t.reachOf(first+in); i <= n; i++ {
		if at, w := t.scan(tag, first+t.wrap(in+i)); at != None {
			return at, w
		}
	}
	return None, 0
}

func (t *Table) wrap(in uint64) uint64 {
	if in >= t.perShard {
		return in - t.perShard
	}
	return in
}

// scan looks for the tag in one line. The second load of the tag is what makes
// the word the key's: between the two the slot has not changed hands.
func (t *Table) scan(tag, ln uint64) (uint32, uint64) {
	l := &t.lines[ln]
	for i := range l.slots {
		s := &l.slots[i]
		if s.tag.Load() != tag {
			continue
		}
		if w := s.word.Load(); s.tag.Load() == tag {
			return uint32(ln)*slotsPerLine + uint32(i), w
		}
	}
	return None, 0
}

func (t *Table) reachOf(ln uint64) uint64 {
	return t.reach[ln/reachPerWord].Load() >> (ln % reachPerWord * reachBits) & (1<<reachBits - 1)
}

// raise makes lookups from the home line ln look n lines past it. The caller
// holds the shard's mutex; no other shard has a part in the word.
func (t *Table) raise(ln, n uint64) {
	if t.reachOf(ln) >= n {
		return
	}
	shift := ln % reachPerWord * reachBits
	w := &t.reach[ln/reachPerWord]
	w.Store(w.Load()&^((1<<reachBits-1)<<shift) | n<<shift)
}
