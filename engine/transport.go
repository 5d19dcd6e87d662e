package engine

// What transports and policies need beside a decision.

// LimitConfig returns the configuration of a limit that is in force; false when
// it has been removed or the handle was never given out.
func (e *Engine) LimitConfig(id LimitID) (Limit, bool) {
	p := e.plan.Load()
	if id == 0 || int(id) >= len(p.limits) || !p.limits[id].live {
		return Limit{}, false
	}
	return p.limits[id].cfg, true
}

// Fault counts a panic that a transport recovered on the way to a decision, so
// that it shows in Snapshot.Faults and in the time unguarded, like one of weir's
// own.
func (e *Engine) Fault(v any) { e.fault(v) }
