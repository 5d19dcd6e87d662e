package shard

import (
	"sync/atomic"

	"github.com/weir-go/weir/bucket"
)

// sweep is the state of the walk over the table.
type sweep struct {
	line    uint64
	found   [maxIDs]int
	live    int
	entries atomic.Int64
}

// Sweep visits the next n lines: it erases idle words, so that new keys find
// empty slots and need not take those of keys that come back, renews the others
// before they outlive their ring, and counts. It belongs to one goroutine and
// takes no lock but to erase.
func (t *Table) Sweep(n int, now int64) {
	s := &t.sweep
	for range n {
		t.visit(s.line, now)
		if s.line++; s.line < uint64(len(t.lines)) {
			continue
		}
		t.ids.swept(&s.found)
		s.entries.Store(int64(s.live))
		s.line, s.live, s.found = 0, 0, [maxIDs]int{}
	}
}

// Lines returns how many lines a whole sweep visits.
func (t *Table) Lines() int { return len(t.lines) }

// Entries returns how many words said something as of the last whole sweep.
func (t *Table) Entries() int { return int(t.sweep.entries.Load()) }

// InUse sums, by table id, what the words of in-flight limits and of holds have
// out now. It reads the whole table.
func (t *Table) InUse() (sums [maxIDs]int64) {
	for i := range t.lines {
		for j := range t.lines[i].slots {
			s := &t.lines[i].slots[j]
			r := t.ids.rules[uint8(s.tag.Load())].Load()
			if r == nil || r.Kind != bucket.Flight && r.Kind != bucket.Hold {
				continue
			}
			tag, w := s.tag.Load(), s.word.Load()
			if bucket.IsFrozen(w) || s.tag.Load() != tag {
				continue
			}
			if r.Kind == bucket.Hold {
				sums[uint8(tag)] += bucket.Held(w)
			} else {
				sums[uint8(tag)] += bucket.InUse(w)
			}
		}
	}
	return sums
}

func (t *Table) visit(ln uint64, now int64) {
	own := ln*slotsPerLine < t.main // an overflow word has no tag of a key
	l := &t.lines[ln]
	for i := range l.slots {
		s := &l.slots[i]
		tag := s.tag.Load()
		id := uint8(tag)
		r := t.ids.rules[id].Load()
		if id == 0 || r == nil {
			continue
		}
		w := s.word.Load()
		if bucket.IsFrozen(w) || s.tag.Load() != tag {
			continue
		}
		at := r.At(now)
		if next := r.Renew(w, at); next != w {
			s.word.CompareAndSwap(w, next)
		}
		idle := r.Idle(w, at)
		switch {
		case !own:
			if !idle {
				t.sweep.found[id]++
			}
			continue
		case idle && t.erase(s, ln, tag, w):
			continue
		}
		t.sweep.found[id]++
		if !idle {
			t.sweep.live++
		}
	}
}

// erase empties the slot if it still holds the idle word.
func (t *Table) erase(s *Slot, ln, tag, w uint64) bool {
	mu := &t.mus[ln/t.perShard]
	mu.Lock()
	defer mu.Unlock()
	v := w&^uint64(bucket.Payload) + bucket.VersionOne
	if s.tag.Load() != tag || !s.word.CompareAndSwap(w, v|bucket.Frozen) {
		return false
	}
	s.tag.Store(0)
	s.word.Store(v | w&bucket.Payload) // generations go on from here
	return true
}
