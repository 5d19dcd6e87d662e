package gate

import "time"

// SpreadAnyway lets places go apart however little room there is, if nothing
// else forbids it.
func (g *Gate) SpreadAnyway() {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.word.Load()
	if _, left := split(w); left >= 0 && w&apart == 0 && !g.held && g.limits.Load()>>32 == half {
		g.spread()
	}
}

// Baseline returns the latency without load, as far as it is known; 0: not yet.
func (a *Adaptive) Baseline() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Duration(a.base)
}
