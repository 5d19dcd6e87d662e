package shard

import (
	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/internal/atom"
)

// None is the slot of a key that has none.
const None = ^uint32(0)

// Find returns the slot of a known key and its word as of one moment, or None.
func (t *Table) Find(h uint64, id uint8) (at uint32, word uint64) {
	_, first, in := t.home(h)
	tag := tagOf(h, id)
	// Most keys lie in their home line.
	if at, word = t.scan(tag, first+in); at != None && word&bucket.Payload != bucket.Frozen {
		return at, word
	}
	return t.findAgain(h, tag, first, in)
}

// Known is Find for whoever changes the word at once: it returns the word
// itself, nil for a key that has none. beside is the slot of another word of the
// same key, or None: words that were born together lie side by side.
func (t *Table) Known(h uint64, id uint8, beside uint32) (w *atom.Uint64, at uint32, word uint64) {
	tag := tagOf(h, id)
	if at = beside + 1; at%slotsPerLine != 0 {
		if s := t.slot(at); s.tag.Load() == tag {
			word = s.word.Load()
			if s.tag.Load() == tag && word&bucket.Payload != bucket.Frozen {
				return &s.word, at, word
			}
		}
	}
	_, first, in := t.home(h)
	l := &t.lines[first+in]
	s := &l.slots[0]
	at = uint32(first+in) * slotsPerLine
	if s.tag.Load() != tag {
		s = &l.slots[1]
		at++
		if s.tag.Load() != tag {
			s = &l.slots[2]
			at++
			if s.tag.Load() != tag {
				s = &l.slots[3]
				at++
			}
		}
	}
	if s.tag.Load() == tag {
		word = s.word.Load()
		if s.tag.Load() == tag && word&bucket.Payload != bucket.Frozen {
			return &s.word, at, word
		}
	}
	if at, word = t.findAgain(h, tag, first, in); at == None {
		return nil, at, 0
	}
	return &t.slot(at).word, at, word
}

// findAgain is Find for a key that is not at home, or whose slot is changing
// hands: whoever does that holds the mutex.
func (t *Table) findAgain(h, tag, first, in uint64) (at uint32, word uint64) {
	for {
		at, word = t.search(tag, first, in)
		if at == None || word&bucket.Payload != bucket.Frozen {
			return at, word
		}
		t.mus[h>>t.shardShift].wait()
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

// scan looks for the tag in one line. Which of the four slots a key lies in is
// chance, so it is selected without a branch: one that the processor can't
// foresee costs more than all four compares. The second load of the tag is what
// makes the word the key's: between the two the slot has not changed hands.
func (t *Table) scan(tag, ln uint64) (uint32, uint64) {
	l := &t.lines[ln]
	i := 6 - differs(l.slots[1].tag.Load(), tag) - 2*differs(l.slots[2].tag.Load(), tag) - 3*differs(l.slots[3].tag.Load(), tag)
	s := &l.slots[i%slotsPerLine]
	if s.tag.Load() != tag {
		return None, 0
	}
	if w := s.word.Load(); s.tag.Load() == tag {
		return uint32(ln)*slotsPerLine + uint32(i), w
	}
	return None, 0
}

// differs is 1 if a and b differ, else 0.
func differs(a, b uint64) uint64 {
	x := a ^ b
	return (x | -x) >> 63
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
