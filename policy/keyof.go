package policy

import (
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// keyOf returns the request's key for the limit. ok is false when a part is
// missing.
func (l *boundLimit) keyOf(e *engine.Engine, a Attrs) (k key.Key, ok bool, fault any) {
	if l.all {
		return e.Key(), true, nil
	}
	var (
		parts [maxParts]string
		buf   [17]byte
		addr  string
	)
	if l.address >= 0 {
		p := &l.key[l.address]
		// Outside the loop, so that the text can stay on the stack.
		if addr = string(key.AppendPrefix(buf[:0], a.Peer(), p.bits4, p.bits6)); addr == "" {
			return key.Key{}, false, nil
		}
	}
	for i := range l.key {
		if i == l.address {
			parts[i] = addr
			continue
		}
		if parts[i], ok, fault = l.key[i].value(a); !ok {
			return key.Key{}, false, fault
		}
	}
	return e.Key(parts[:len(l.key)]...), true, nil
}

// fallbackKey returns the key of a request that lacks a part of the limit's own.
// It has one part more than those, so that no client can send the parts of
// somebody's fallback.
func (l *boundLimit) fallbackKey(e *engine.Engine, a Attrs) (k key.Key, ok bool, fault any) {
	var (
		parts [maxParts + 1]string
		buf   [17]byte
	)
	if p := &l.fallback; p.from == fromAddress {
		parts[0] = string(key.AppendPrefix(buf[:0], a.Peer(), p.bits4, p.bits6))
	} else if parts[0], _, fault = p.value(a); fault != nil {
		return key.Key{}, false, fault
	}
	if parts[0] == "" {
		return key.Key{}, false, nil
	}
	return e.Key(parts[:len(l.key)+1]...), true, nil
}

// planOf returns the position of the caller's plan.
func (l *boundLimit) planOf(a Attrs) (variant int, fault any) {
	name, ok, fault := l.plan.value(a)
	if fault != nil {
		return 0, fault
	}
	if i, known := l.byPlan[name]; ok && known {
		return i, nil
	}
	return l.fallPlan, nil
}
