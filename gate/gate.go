package gate

import (
	"math"

	"github.com/weir-go/weir/internal/atom"
)

// Gate counts the requests inside. Its methods are safe for concurrent use, but
// for Join, and do not allocate. The zero value admits nothing.
type Gate struct {
	_      [64]byte    // the word has its cache line to itself
	word   atom.Uint64 // [critical 32 | other 31 | apart 1]
	_      [56]byte
	limits atom.Uint64 // [hard cap 32 | allocation 32]; read often, written rarely
	_      [56]byte

	// What follows is for a gate whose places lie apart; see stripe.go.
	mu      atom.Mutex // held where places go apart and come together
	stripes []*Stripe
	held    bool // together, until Release
}

const (
	half = 1<<32 - 1
	// What the word counts in. Critical requests are counted modulo 2^32.
	oneCritical = 1 << 32
	oneOther    = 1 << 1
	// apart: some of those that the word counts as others may have left, and their
	// places lie in stripes.
	apart = 1
)

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
	limits := pack(allocation, hardCap)
	if g.limits.Load() == limits {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gather() // what lies in stripes is let in without a look at the limits
	g.limits.Store(limits)
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
		switch {
		case ok:
			if g.word.CompareAndSwap(w, next) {
				return true
			}
		case w&apart == 0:
			return false
		default:
			g.together()
		}
	}
}

// EnterWithin is Enter with an allocation and a hard cap (0: none) other than
// Resize's, for as long as somebody else lends them. The gate must be held
// together.
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
	for {
		w := g.word.Load()
		if _, ok := enter(w, g.limits.Load(), critical); ok || w&apart == 0 {
			return ok
		}
		g.together()
	}
}

// enter is the step: both caps are checked on one word, so no interleaving of
// entries and leaves can pass one of them.
func enter(w, limits uint64, critical bool) (uint64, bool) {
	c, o, hard := w>>32, w&half/oneOther, limits>>32
	switch {
	case hard != half && c+o >= hard:
		return w, false
	case critical:
		return w + oneCritical, true
	case o >= limits&half:
		return w, false
	}
	return w + oneOther, true
}

// Leave gives the place back. The caller has entered with the same argument.
func (g *Gate) Leave(critical bool) { g.word.Add(-one(critical)) }

func one(critical bool) uint64 {
	if critical {
		return oneCritical
	}
	return oneOther
}

// Limits returns what Resize set last; hardCap is 0 for none.
func (g *Gate) Limits() (allocation, hardCap int) {
	l := g.limits.Load()
	if hard := l >> 32; hard != half {
		hardCap = int(hard)
	}
	return int(l & half), hardCap
}
