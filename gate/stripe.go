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

const open = 1

// Join makes a stripe the gate's. It must come before any other use of both.
func (g *Gate) Join(s *Stripe) { g.stripes = append(g.stripes, s) }

// EnterBy is Enter by way of a stripe.
func (g *Gate) EnterBy(s *Stripe, critical bool) bool {
	need, change := uint64(open+1), ^uint64(oneOther-1) // a place lies there
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

// LeaveBy is Leave by way of a stripe, best that by which the request entered.
func (g *Gate) LeaveBy(s *Stripe, critical bool) {
	change := uint64(oneOther)
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
	sum := uint64(0) // minus the places that go back, plus the critical requests
	for _, s := range g.stripes {
		w := s.word.Swap(0)
		sum += w&^half - w&(half&^open)
	}
	g.word.Add(sum - apart)
}

// Spread lets places go apart if there is plenty of room, at least a quarter of
// the allocation and a few for every stripe, and no hard cap, which bounds
// critical requests too and so needs the word. It is called now and then.
func (g *Gate) Spread() {
	const few = 4
	w, l := g.word.Load(), g.limits.Load()
	if room := int(l&half) - int(w&half/oneOther); w&apart != 0 || len(g.stripes) == 0 || l>>32 != half ||
		room < max(int(l&half)/4, few*len(g.stripes)) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if l == g.limits.Load() && !g.held {
		g.spread()
	}
}

// spread opens the stripes. The word says first that places may lie there. The
// caller holds mu.
func (g *Gate) spread() {
	if g.word.Load()&apart != 0 {
		return
	}
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

// Inside returns how many are inside. It is exact while nobody enters or leaves,
// and always when the gate is held together.
func (g *Gate) Inside() (critical, other int) {
	w := g.word.Load()
	if w&apart == 0 {
		return int(w >> 32), int(w & half / oneOther)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	// The stripes first: a place that moves in between is counted as taken.
	sum := uint64(0)
	for _, s := range g.stripes {
		w := s.word.Load()
		sum += w&^half - w&(half&^open)
	}
	w = g.word.Load() + sum
	return max(int(int32(w>>32)), 0), max(int(int32(w&half))/oneOther, 0)
}
