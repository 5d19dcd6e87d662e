package engine

import (
	"log/slog"
	"time"
)

// host is what a Syncer sees of its engine.
type host struct{ e *Engine }

func (h host) Now() int64           { return h.e.time.Now() }
func (h host) Wall() time.Time      { return h.e.time.Wall() }
func (h host) Logger() *slog.Logger { return h.e.logger }

func (h host) GateUse() GateUse {
	g := h.e.plan.Load().cfg.Gate
	u := GateUse{Capacity: g.Capacity, Reserve: g.Reserve}
	if a := h.e.adaptive.Load(); a != nil {
		u.Capacity = a.Limit()
	}
	u.Critical, u.Other = h.e.gate.Inside()
	u.Peak = u.Other
	if l := h.e.lease.Load(); l != nil {
		u.Peak, u.Refused = max(u.Peak, int(l.peak.Swap(0))), l.refused.Swap(0)
	}
	return u
}

func (h host) LeaseGate(g GateLease) {
	h.e.sizing.Lock()
	defer h.e.sizing.Unlock()
	next := &lease{GateLease: g}
	if l := h.e.lease.Swap(next); l != nil { // what has not been read yet
		next.peak.Store(l.peak.Load())
		next.refused.Add(l.refused.Load())
	}
	h.e.sizeGate()
}
