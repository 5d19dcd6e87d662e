package policy

import (
	"slices"
	"time"

	"github.com/weir-go/weir/engine"
)

// warnings writes what is allowed and probably not meant.
func (d *describer) warnings() {
	for _, l := range d.p.limits {
		if l.rotatable() && !d.backed(l) {
			d.warn("%s: every part of its key is the client's word: whoever varies it has a fresh budget each time; put a limit by address or identity beside it", l.name)
		}
		if k := &l.cost; k.from.from != fromNowhere && k.from.from != fromExtractor {
			d.warn("%s: the client says what a request costs, and may say 0", l.name)
		}
		for _, v := range l.variants {
			e := d.engineLimit(v)
			if m := kinds[e.Kind].most(e); m > 0 && l.cost.max > m {
				d.warn("%s: a request that claims more than %d is refused whenever it comes", v, m)
			}
		}
		for _, o := range l.overrides {
			if !o.until.IsZero() && o.until.Before(time.Now()) {
				d.warn("%s: the override %s has expired", l.name, o.name)
			}
		}
	}
	critical := d.p.cfg.Default == engine.Critical || d.p.header != "" ||
		slices.ContainsFunc(d.p.classes, func(c classRule) bool { return c.class == engine.Critical })
	if !critical && (d.p.cfg.Gate.Reserve > 0 || d.p.cfg.Ladder.Mode != engine.Off) {
		d.warn("no rule makes a request critical, so nothing is kept through an overload")
	}
}

func (d *describer) warn(format string, args ...any) { d.line("warning: "+format, args...) }

// rotatable reports whether a client can choose all of the key.
func (l *limit) rotatable() bool {
	return !l.all && !slices.ContainsFunc(l.key, func(p part) bool {
		return !p.free() && p.from != fromRoute && p.from != fromMethod
	})
}

// backed reports whether another limit counts the same requests by something
// that a client can't choose.
func (d *describer) backed(l *limit) bool {
	return slices.ContainsFunc(d.p.limits, func(o *limit) bool {
		return o != l && !o.rotatable() && o.match.includes(&l.match)
	})
}

// includes reports whether everything that o matches, m matches too.
func (m *match) includes(o *match) bool {
	if len(o.patterns) == 0 {
		return len(m.patterns) == 0 && o.methods&^m.methods == 0
	}
	for i := range o.patterns {
		if p := &o.patterns[i]; p.methods&o.methods&^m.on(p) != 0 {
			return false
		}
	}
	return true
}
