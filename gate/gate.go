package gate

import (
	"math"

	"github.com/weir-go/weir/internal/atom"
)

// Gate knows how many more may come in. Its methods are safe for concurrent use,
// but for Join, and do not allocate. The zero value admits nothing.
type Gate struct {
	_       [64]byte    // the word has its cache line to itself
	word    atom.Uint64 // [room for anyone 32 | room for others 31 | apart 1]
	_       [56]byte
	limits  atom.Uint64 // [hard cap 32 | allocation 32]; read often, written rarely
	resizes atom.Uint64 // begun and ended: odd while the word and limits disagree
	_       [48]byte

	// What follows is for a gate whose places lie apart; see stripe.go.
	mu      atom.Mutex // held where places go apart and come together, and to resize
	stripes []*Stripe
	held    bool // together, until Release
}

// The word holds what is left and not what is inside. So a new size is one more
// change of the same word, and who looked before it has to look again. With the
// size elsewhere, a count that went up and down again around a resize looked as
// if nothing had happened, and let one in by the old size.
//
// Both rooms are signed. They are below zero where the gate has shrunk below what
// is inside, and then the lower one has borrowed from the upper.
const (
	half = 1<<32 - 1
	// What one who enters takes from the word.
	oneCritical = 1 << 32
	oneOther    = 1<<32 | 1<<1
	// apart: some of those whose places are taken from the word may have left, and
	// their places lie in stripes.
	apart = 1
	// countless is more than can be inside a process: having no hard cap.
	countless = 1 << 30
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
	hard := uint64(hardCap)
	if hardCap == 0 {
		hard = half
	}
	limits := hard<<32 | uint64(allocation)
	if g.limits.Load() == limits {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gather() // what lies in stripes is let in without a look at the word
	g.resizes.Add(1)
	g.word.Add(room(limits) - room(g.limits.Load()))
	g.limits.Store(limits)
	g.resizes.Add(1)
}

// room is the word of an empty gate.
func room(limits uint64) uint64 {
	return min(limits>>32, countless)<<32 + min(limits&half, countless-1)<<1
}

// split returns the halves of a word or of a difference of words.
func split(w uint64) (all, others int32) {
	low := int32(w)
	return int32((w - uint64(int64(low))) >> 32), low >> 1
}

// fits checks both caps on one word, so no interleaving of entries and leaves can
// pass one of them.
func fits(w uint64, critical bool) bool {
	all, others := split(w)
	return all > 0 && (critical || others > 0)
}

func one(critical bool) uint64 {
	if critical {
		return oneCritical
	}
	return oneOther
}

// Enter takes a place, or reports that there is none for this request.
func (g *Gate) Enter(critical bool) bool {
	for {
		w := g.word.Load()
		switch {
		case fits(w, critical):
			if g.word.CompareAndSwap(w, w-one(critical)) {
				return true
			}
		case w&apart == 0:
			return false
		default:
			g.together()
		}
	}
}

// Fits reports whether Enter would let the request in now, and takes nothing.
func (g *Gate) Fits(critical bool) bool {
	for {
		w := g.word.Load()
		if ok := fits(w, critical); ok || w&apart == 0 {
			return ok
		}
		g.together()
	}
}

// EnterWithin is Enter with an allocation and a hard cap (0: none) other than
// Resize's, for as long as somebody else lends them.
//
// Who looked at the gate before a resize and took a place after it gives it back
// and looks again. Until then somebody else may be refused; nobody is let in.
func (g *Gate) EnterWithin(critical bool, allocation, hardCap int) bool {
	for {
		resize, limits := g.inForce()
		w := g.word.Load()
		if w&apart != 0 {
			g.together()
			continue
		}
		inside, others := split(room(limits) - w)
		ok := (hardCap == 0 || int(inside) < hardCap) && (critical || int(others) < allocation)
		if ok && !g.word.CompareAndSwap(w, w-one(critical)) {
			continue
		}
		if g.resizes.Load() == resize {
			return ok
		}
		if ok {
			g.Leave(critical)
		}
	}
}

// inForce returns the limits that the word is by, and the number of the resize
// that set them: while that stays the same, so do they.
func (g *Gate) inForce() (resize, limits uint64) {
	if resize = g.resizes.Load(); resize&1 == 0 {
		return resize, g.limits.Load()
	}
	g.mu.Lock() // a resize is about to end
	defer g.mu.Unlock()
	return g.resizes.Load(), g.limits.Load()
}

// Leave gives the place back. The caller has entered with the same argument.
func (g *Gate) Leave(critical bool) { g.word.Add(one(critical)) }

// Limits returns what Resize set last; hardCap is 0 for none.
func (g *Gate) Limits() (allocation, hardCap int) {
	l := g.limits.Load()
	if hard := l >> 32; hard != half {
		hardCap = int(hard)
	}
	return int(l & half), hardCap
}
