package gate

import "github.com/weir-go/weir/internal/atom"

// A word that every request writes travels from core to core, and that takes
// longer than the rest of a decision. While there is plenty of room, places may
// therefore lie apart: whoever leaves puts the place down in the stripe it came
// by, and the next who comes that way takes it up. The gate's word goes on
// counting such a place as taken, so the caps hold whatever lies where. When
// somebody finds a place neither in their stripe nor by the word, all stripes are
// closed and what lies in them goes back; then the word alone decides, and its
// refusals are exact. The ticker lets places go apart again once there is plenty
// of room.

// Stripe is where places lie apart. It is to share its cache line with nothing
// that is written on other ways than its own. The zero value is closed.
type Stripe struct {
	word atom.Uint64 // [critical inside 32 | places 31 | open 1]; closed: 0
}

const (
	open     = 1
	onePlace = 1 << 1
)

// Join makes a stripe the gate's. It must come before any other use of both.
func (g *Gate) Join(s *Stripe) { g.stripes = append(g.stripes, s) }

// EnterBy is Enter by way of a stripe.
func (g *Gate) EnterBy(s *Stripe, critical bool) bool {
	need, change := uint64(open+onePlace), ^uint64(onePlace-1) // takes one that lies there
	if critical {
		need, change = open, oneCritical
	}
	for {
		w := s.word.Load()
		if w&half < need {
			return g.Enter(critical)
		}
		if s.word.CompareAndSwap(w, w+change) {
			return true
		}
	}
}

// TakeOther takes a place that lies in the stripe for a request that is not critical:
// what EnterBy tries first, small enough to be inlined.
func (s *Stripe) TakeOther() bool {
	w := s.word.Load()
	return w&half >= open+onePlace && s.word.CompareAndSwap(w, w-onePlace)
}

// LeaveBy is Leave by way of a stripe, best that by which the request entered.
func (g *Gate) LeaveBy(s *Stripe, critical bool) {
	change := uint64(onePlace)
	if critical {
		change = ^uint64(oneCritical - 1)
	}
	for {
		w := s.word.Load()
		if w&open == 0 {
			g.Leave(critical)
			return
		}
		if s.word.CompareAndSwap(w, w+change) {
			return
		}
	}
}

// together brings all places into the word.
func (g *Gate) together() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gather()
}

// gather is together for who holds mu. Between the closing of a stripe and the
// last step its places are nowhere; the word says so, and who finds no place
// there waits for mu.
func (g *Gate) gather() {
	if g.word.Load()&apart == 0 {
		return
	}
	sum := uint64(0)
	for _, s := range g.stripes {
		sum += lying(s.word.Swap(0))
	}
	g.word.Add(sum - apart)
}

// lying is what goes back to the gate's word from a stripe's: its places, less
// what its critical requests take.
func lying(w uint64) uint64 { return w&half/onePlace*oneOther - w>>32*oneCritical }

// Spread lets places go apart if there is plenty of room, at least a quarter of
// the allocation and a few for every stripe, and no hard cap, which bounds
// critical requests too and so needs the word. It is called now and then.
func (g *Gate) Spread() {
	if !g.roomy() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.held && g.roomy() { // still: on an overfull gate a place that comes back is nobody's
		g.spread()
	}
}

func (g *Gate) roomy() bool {
	const few = 4
	w, l := g.word.Load(), g.limits.Load()
	_, left := split(w)
	return w&apart == 0 && l>>32 == half && len(g.stripes) > 0 && int(left) >= max(int(l&half)/4, few*len(g.stripes))
}

// spread opens the stripes of a gate that is together and not overfull. The word
// says first that places may lie there. The caller holds mu.
func (g *Gate) spread() {
	g.word.Add(apart)
	for _, s := range g.stripes {
		s.word.Store(open)
	}
}

// Hold brings all places into the word and keeps them there, until Release: for
// those who need to know exactly how many are inside at every moment, or bound
// them by something else than Resize.
func (g *Gate) Hold() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = true
	g.gather()
}

// Release ends what Hold began.
func (g *Gate) Release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = false
}

// Apart reports whether places may lie apart, where Inside takes a while.
func (g *Gate) Apart() bool { return g.word.Load()&apart != 0 }

// Inside returns how many are inside. It is exact while nobody enters or leaves,
// and always when the gate is held together; otherwise it is off by at most those
// who came or went meanwhile.
func (g *Gate) Inside() (critical, other int) {
	for {
		resize, limits := g.inForce()
		if w := g.word.Load(); w&apart != 0 {
			break
		} else if g.resizes.Load() == resize {
			return inside(limits, w)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// The stripes first: a place that moves in between is counted as taken.
	sum := uint64(0)
	for _, s := range g.stripes {
		sum += lying(s.word.Load())
	}
	return inside(g.limits.Load(), g.word.Load()&^apart+sum)
}

// Others returns how many non-critical requests are inside, as Inside does.
func (g *Gate) Others() int {
	_, other := g.Inside()
	return other
}

func inside(limits, w uint64) (critical, other int) {
	all, others := split(room(limits) - w)
	return max(int(all-others), 0), max(int(others), 0)
}
