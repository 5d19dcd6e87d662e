package gate

import (
	"math"

	"github.com/weir-go/weir/internal/atom"
)

// Gate counts the requests inside. Its methods are safe for concurrent use and
// do not allocate. The zero value admits nothing.
type Gate struct {
	_      [64]byte // the word has its cache line to itself
	word   atom.Uint64
	_      [56]byte
	limits atom.Uint64 // [hard cap 32 | allocation 32]; read often, written rarely
	_      [56]byte
}

const half = 1<<32 - 1

// Allocation is how many non-critical requests a capacity with a reserve lets
// in: floor((1-reserve)*capacity), forgiving the last bit of the reserve's
// rounding, so that 20 % of 10 leaves 8.
func Allocation(capacity int, reserve float64) int {
	return int(math.Floor((1-reserve)*float64(capacity) + 1e-9))
}

// Resize sets how many non-critical requests and, unless hardCap is 0, how many
// requests in all may be inside. Both are 0 to 2^31-1. When fewer fit than are
// inside, nothing is admitted until they have left.
func (g *Gate) Resize(allocation, hardCap int) {
	g.limits.Store(pack(allocation, hardCap))
}

func pack(allocation, hardCap int) uint64 {
	hard := uint64(hardCap)
	if hardCap == 0 {
		hard = half
	}
	return hard<<32 | uint64(allocation)
}

// Enter takes a place, or reports that there is none for this request.
func (g *Gate) Enter(critical bool) bool {
	for {
		// The limits are loaded after the word: with older ones, someone who came
		// while the gate was full could be let in on them after it has shrunk and
		// others have left.
		w := g.word.Load()
		next, ok := enter(w, g.limits.Load(), critical)
		if !ok {
			return false
		}
		if g.word.CompareAndSwap(w, next) {
			return true
		}
	}
}

// EnterWithin is Enter with an allocation and a hard cap (0: none) other than
// Resize's, for as long as somebody else lends them.
func (g *Gate) EnterWithin(critical bool, allocation, hardCap int) bool {
	limits := pack(allocation, hardCap)
	for {
		w := g.word.Load()
		next, ok := enter(w, limits, critical)
		if !ok {
			return false
		}
		if g.word.CompareAndSwap(w, next) {
			return true
		}
	}
}

// Fits reports whether Enter would let the request in now, and takes nothing.
func (g *Gate) Fits(critical bool) bool {
	w := g.word.Load()
	_, ok := enter(w, g.limits.Load(), critical)
	return ok
}

// enter is the step: both caps are checked on one word, so no interleaving of
// entries and leaves can pass one of them.
func enter(w, limits uint64, critical bool) (uint64, bool) {
	c, o := w>>32, w&half
	switch {
	case c+o >= limits>>32:
		return w, false
	case critical:
		return w + 1<<32, true
	case o >= limits&half:
		return w, false
	}
	return w + 1, true
}

// Leave gives the place back. The caller has entered with the same argument.
func (g *Gate) Leave(critical bool) {
	if critical {
		g.word.Add(^uint64(1<<32 - 1))
		return
	}
	g.word.Add(^uint64(0))
}

// Inside returns how many are inside.
func (g *Gate) Inside() (critical, other int) {
	w := g.word.Load()
	return int(w >> 32), int(w & half)
}

// Limits returns what Resize set last; hardCap is 0 for none.
func (g *Gate) Limits() (allocation, hardCap int) {
	l := g.limits.Load()
	if hard := l >> 32; hard != half {
		hardCap = int(hard)
	}
	return int(l & half), hardCap
}
