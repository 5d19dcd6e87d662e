package engine

import (
	"fmt"
	"log/slog"
)

// SetMode changes, at once and while requests are decided, the mode of a limit
// by its name, of a layer ("rate", "concurrency", "fleet", "worker") or of
// "all". The weakest of a limit's own mode, its layer's and all's is in force,
// so switching a layer back on restores what its limits had.
func (e *Engine) SetMode(target string, m Mode) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	id, isLimit := e.byName[target]
	switch {
	case isLimit && e.plan.Load().limits[id].live:
		(*e.names.Load())[id].own = m
	case isTarget(target):
		e.modes[target] = m
	default:
		return fmt.Errorf("engine: set mode: target %q: is no limit and not one of %q", target, reserved)
	}
	p := *e.plan.Load()
	p.cloneLimits()
	e.applyModes(&p)
	e.plan.Store(&p)
	e.say(slog.LevelInfo, "mode set", slog.String("target", target), slog.String("mode", m.String()))
	return nil
}

func isTarget(name string) bool {
	for _, r := range reserved {
		if r == name {
			return true
		}
	}
	return false
}

// modesFrom takes over the modes of the layers that the configuration changes.
func (e *Engine) modesFrom(old *plan, cfg Config) {
	if old == nil || old.cfg.Gate.Mode != cfg.Gate.Mode {
		e.modes[Fleet.String()] = cfg.Gate.Mode
	}
	if old == nil || old.cfg.Ladder.Mode != cfg.Ladder.Mode {
		e.modes[Worker.String()] = cfg.Ladder.Mode
	}
}

// applyModes puts the weakest modes in force, in a plan that no request has seen
// yet: so each is decided by the limits and the modes of one moment, and what
// every one would have to ask is said there once. The caller holds mu.
func (e *Engine) applyModes(p *plan) {
	all := e.modes["all"]
	for l := Rate; l <= Worker; l++ {
		e.layerMode[l].Store(uint64(all.weaker(e.modes[l.String()])))
	}
	_, manual := p.cfg.Clock.(*ManualClock)
	p.express = !p.closed && (p.cfg.Clock == nil || manual) && p.cfg.Gate.Adaptive == nil &&
		(!p.gated || e.layerMode[Fleet].Load() == uint64(Enforce))
	p.paced = nil
	for id := 1; id < len(p.limits); id++ {
		l := p.limits[id]
		if l.at != nil {
			p.paced = append(p.paced, l)
		}
		m := l.ctl.own.weaker(Mode(e.layerMode[l.layer].Load()))
		l.mode = m
		if l.express = 0; m == Enforce && l.plain() {
			l.express = uint64(l.max)
		}
		if l.lone = 0; l.kind == TokenBucket && p.express && !p.gated && !p.cfg.PreciseClock {
			l.lone = l.express
		}
		watching := m.enabled() == 0 || m.enforced() == 0
		for _, t := range [...]uint8{l.table, l.bucket} {
			if t != 0 {
				e.table.SetShadow(t, watching)
			}
		}
		if w, ok := l.shared.(Watcher); ok {
			e.quietly(func() { w.Watch(watching) })
		}
	}
}

// rampSalt picks the keys of a limit's ramp: others than another limit's, and
// the same on every instance and after every restart.
func (e *Engine) rampSalt(name string) uint64 { return e.hasher.Key("ramp", name).P }
