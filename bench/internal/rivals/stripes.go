// Package rivals keeps what weir could ship instead of what it ships, correct
// and ready to be measured again on another machine.
package rivals

import "sync/atomic"

// maxStripes bounds the scan.
const maxStripes = 16

// Stripes is a bounded count of places spread over several cache lines, so that
// cores need not write the same one: the rival of gate's one word.
//
// Each stripe is one word, [sequence 32 | free places 32]; every change of a
// word advances its sequence. A caller that finds no free place in any stripe
// can't refuse yet: a place may have moved behind the scan. It reads all words
// once more. When none has changed, all were empty at the moment between the
// two passes, and the refusal is exact; when one has, it starts again, and
// somebody else has made progress.
type Stripes struct{ stripes []stripe }

type stripe struct {
	word atomic.Uint64
	_    [56]byte
}

const (
	sequence = 1 << 32
	free     = sequence - 1
)

// NewStripes spreads places over n stripes, 1 to 16.
func NewStripes(n, places int) *Stripes {
	s := &Stripes{stripes: make([]stripe, min(max(n, 1), maxStripes))}
	for i := range s.stripes {
		s.stripes[i].word.Store(uint64((places + i) / len(s.stripes)))
	}
	return s
}

// Enter takes a place, from the caller's own stripe when it has one, or reports
// that there is none.
func (s *Stripes) Enter(own int) bool {
	for {
		var seen [maxStripes]uint64
		for i := range s.stripes {
			var ok bool
			if seen[i], ok = s.at(own + i).take(); ok {
				return true
			}
		}
		if s.unchanged(own, &seen) {
			return false
		}
	}
}

// Leave gives a place to the caller's own stripe.
func (s *Stripes) Leave(own int) { s.at(own).word.Add(sequence + 1) }

// Free is the number of free places, exact when nobody moves.
func (s *Stripes) Free() (n int) {
	for i := range s.stripes {
		n += int(s.stripes[i].word.Load() & free)
	}
	return n
}

func (s *Stripes) at(i int) *stripe { return &s.stripes[uint(i)%uint(len(s.stripes))] }

// take takes one of the stripe's places, or returns the word that had none.
func (s *stripe) take() (w uint64, ok bool) {
	for {
		if w = s.word.Load(); w&free == 0 {
			return w, false
		}
		if s.word.CompareAndSwap(w, w+sequence-1) {
			return w, true
		}
	}
}

func (s *Stripes) unchanged(own int, seen *[maxStripes]uint64) bool {
	for i := range s.stripes {
		if s.at(own+i).word.Load() != seen[i] {
			return false
		}
	}
	return true
}
