package bucket

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Sliding: [sub-window 11 | counts of it and of the four before it, 9 bits
// each, the newest lowest]. A sub-window is a quarter of the window, so any
// interval of the window's length touches at most five of them; each counts in
// full until it is wholly outside.
const (
	slideCells     = 5
	slideCellBits  = 9
	slideCell      = 1<<slideCellBits - 1
	slideBits      = slideCells * slideCellBits
	slideCounts    = 1<<slideBits - 1
	slideIndexBits = 11
	slideIndex     = 1<<slideIndexBits - 1
)

// NewSliding returns the rule of never more than n in any interval of length
// per. n is 1 to 511; per is at least 4 ns.
func NewSliding(n int64, per time.Duration) (Rule, error) {
	var errs []error
	if n < 1 {
		errs = append(errs, errRate(n))
	}
	if n > slideCell {
		errs = append(errs, fmt.Errorf("rate %d: a sliding window counts to %d; use a token bucket for more", n, slideCell))
	}
	if per < 4 || per > math.MaxInt64/8 {
		errs = append(errs, fmt.Errorf("per %v: must be from 4ns to %v", per, time.Duration(math.MaxInt64/8)))
	}
	if len(errs) > 0 {
		return Rule{}, errors.Join(errs...)
	}
	return Rule{Kind: Sliding, max: n, sub: (int64(per) + 3) / 4}, nil
}

func subIndex(at uint64) uint64 { return at & slideIndex }

// slideTo moves the word on to the instant's sub-window. A word that is ahead
// of the instant (whose clock was read earlier) stays where it is.
func slideTo(w, at uint64) uint64 {
	p := w & Payload
	steps := (at - p>>slideBits) & slideIndex
	if steps == 0 || steps > slideIndex/2 {
		return w
	}
	counts := uint64(0)
	if steps < slideCells {
		counts = p << (steps * slideCellBits) & slideCounts
	}
	return w&^uint64(Payload) | subIndex(at)<<slideBits | counts
}

// sum is what the five sub-windows hold together.
func sum(w uint64) int64 {
	n := uint64(0)
	for i := 0; i < slideCells; i++ {
		n += w & slideCell
		w >>= slideCellBits
	}
	return int64(n)
}

func (r *Rule) takeSliding(w, at uint64, cost int64) (uint64, bool) {
	s := slideTo(w, at)
	if sum(s)+cost > r.max {
		return w, false
	}
	return s + uint64(cost), true
}

func undoSliding(w, done uint64, cost int64) uint64 {
	age := (w&Payload>>slideBits - done&Payload>>slideBits) & slideIndex
	if age >= slideCells {
		return w
	}
	shift := age * slideCellBits
	return w - min(uint64(cost), w>>shift&slideCell)<<shift
}

func (r *Rule) waitSliding(w, at uint64, now, cost int64) int64 {
	s := slideTo(w, at)
	left := sum(s)
	for i := slideCells - 1; i >= 0; i-- {
		if left+cost <= r.max {
			break
		}
		left -= int64(s >> (i * slideCellBits) & slideCell)
		if left+cost <= r.max {
			// The cell's own sub-window began i before the word's; it is outside
			// once five have begun after it.
			word := at + (s&Payload>>slideBits-at)&slideIndex
			return (int64(word)-int64(i)+slideCells)*r.sub - now
		}
	}
	return 0
}
