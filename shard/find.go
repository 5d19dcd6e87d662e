package shard

import (
	"unsafe"

	"github.com/weir-go/weir/bucket"
)

// None is the slot of a key that has none.
const None = ^uint32(0)

// Find returns the slot of a known key and its word as of one moment, or None.
func (t *Table) Find(h uint64, id uint8) (at uint32, word uint64) {
	_, first, in := t.home(h)
	tag := TagOf(h, id)
	// Most keys lie in their home line.
	if at, word = t.scan(tag, first+in); at != None && !bucket.IsFrozen(word) {
		return at, word
	}
	return t.findAgain(h, tag, first, in)
}

// Home returns the line in which the words of a key are looked for first.
func (t *Table) Home(h uint64) *Line {
	// The line is less than all: there is no need to check it.
	return (*Line)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(t.lines)), t.lineOf(h)*uint64(unsafe.Sizeof(Line{}))))
}

// Slot returns the slot that has the tag of the key, or nil.
func (t *Table) Slot(h, tag uint64) *Slot {
	if s := t.Home(h).Pick(tag); s.is(tag) {
		return s
	}
	return t.away(h, tag)
}

// Seek is Pick and Read for a key that its home line may not have: s is nil if no
// line has it, and ok false if its slot is changing hands.
func (t *Table) Seek(h, tag uint64) (s *Slot, word uint64, ok bool) {
	if s = t.Slot(h, tag); s != nil {
		word, ok = s.Read(tag)
	}
	return s, word, ok
}

// Next returns the slot behind s in its line, behind the last one itself. Words
// of one key that were born together lie side by side.
func (s *Slot) Next() *Slot {
	// Lines are aligned to their size: where the address has all of these bits, the
	// line ends.
	const last = (slotsPerLine - 1) * unsafe.Sizeof(Slot{})
	step := unsafe.Sizeof(Slot{})
	if uintptr(unsafe.Pointer(s))&last == last {
		step = 0
	}
	return (*Slot)(unsafe.Add(unsafe.Pointer(s), step))
}

// is reports whether the slot has the tag.
func (s *Slot) is(tag uint64) bool { return s.tag.Load() == tag }

// away returns the slot that has the tag of the key in the lines past its home,
// or nil.
func (t *Table) away(h, tag uint64) *Slot {
	_, first, in := t.home(h)
	for i, n := uint64(1), t.reachOf(first+in); i <= n; i++ {
		if s := t.lines[first+t.wrap(in+i)].Pick(tag); s.is(tag) {
			return s
		}
	}
	return nil
}

// Read returns the word, if the slot is the tag's after it was loaded. It is the
// tag's word if the slot has not changed hands since it was loaded, which Change
// and Still tell by its version.
func (s *Slot) Read(tag uint64) (word uint64, ok bool) {
	word = s.word.Load()
	return word, s.tag.Load() == tag && !bucket.IsFrozen(word)
}

// Still reports whether the slot has not changed hands since the word was read.
// A change needs no such look, its compare-and-swap is one; a refusal does.
func (s *Slot) Still(word uint64) bool { return (s.word.Load()^word)>>56 == 0 }

// Change makes the word next if it is still old.
func (s *Slot) Change(old, next uint64) bool { return s.word.CompareAndSwap(old, next) }

// Index returns the number of a slot of this table, by which it is released.
func (t *Table) Index(s *Slot) uint32 {
	return uint32((uintptr(unsafe.Pointer(s)) - uintptr(unsafe.Pointer(&t.lines[0]))) / unsafe.Sizeof(Slot{}))
}

// findAgain is Find for a key that is not at home, or whose slot is changing
// hands: whoever does that holds the mutex.
func (t *Table) findAgain(h, tag, first, in uint64) (at uint32, word uint64) {
	for {
		at, word = t.search(tag, first, in)
		if at == None || !bucket.IsFrozen(word) {
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

// scan looks for the tag in one line. The second load of the tag is what makes
// the word the key's: between the two the slot has not changed hands.
func (t *Table) scan(tag, ln uint64) (uint32, uint64) {
	s := t.lines[ln].Pick(tag)
	if !s.is(tag) {
		return None, 0
	}
	if w := s.word.Load(); s.tag.Load() == tag {
		return t.Index(s), w
	}
	return None, 0
}

// Pick returns the slot of the line that has the tag, or any if none has. Which
// of the four a key lies in is chance, and a branch that the processor can't
// foresee costs more than all the compares: these become conditional moves.
func (l *Line) Pick(tag uint64) *Slot {
	at := l.slots[1].has(tag) | l.slots[2].has(tag)*2 | l.slots[3].has(tag)*3 // at most 3
	return (*Slot)(unsafe.Pointer(uintptr(unsafe.Pointer(l)) + at*unsafe.Sizeof(Slot{})))
}

// has is 1 if the slot has the tag, else 0.
func (s *Slot) has(tag uint64) (n uintptr) {
	if s.tag.Load() == tag {
		n = 1
	}
	return n
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
