package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// plans reads the plans of a limit: the same key, other numbers.
func (p *loader) plans(l *limit, o *object, base engine.Limit) {
	for _, f := range numberFields {
		if o.get(f) != nil {
			o.fail(f, "stands beside plans; every plan has its own numbers")
		}
	}
	if n := o.get("plan"); n != nil {
		if _, ok := o.r.text(n, o.path+".plan"); ok {
			l.plan, _ = o.r.part(n, o.path+".plan", &p.opts.extractors)
			if l.plan.from == fromAddress {
				o.fail("plan", "is an address, which is no plan")
			}
		}
	} else if !o.has("plan") {
		o.fail("plan", "is missing; write where the name of a caller's plan comes from, such as extract plan")
	}
	l.fallbackPlan, _ = o.text("default_plan")
	n := o.get("plans")
	if n == nil {
		if !o.has("plans") {
			o.fail("plans", "is missing; write the plans and their numbers")
		}
		return
	}
	list := o.r.object(n, o.path+".plans")
	for _, f := range list.n.fields {
		list.known = append(list.known, f.name)
		base.Name = l.name + "." + f.name
		path := join(list.path, f.name)
		at := &node{line: f.line, col: f.col}
		if !limitName.MatchString(f.name) {
			o.r.failAt(f, path, "can't be the name of a plan: letters, digits, _, - and '.'")
		}
		e, fields := p.numbersOf(f.value, path, base)
		l.plans = append(l.plans, f.name)
		l.variants = append(l.variants, e.Name)
		p.add(at, fields, e)
	}
	list.done()
	switch {
	case len(l.plans) == 0:
		if !list.void {
			o.fail("plans", "has no plan; write the plans and their numbers")
		}
	case !o.has("default_plan"):
		o.fail("default_plan", "is missing; write which of %s is for callers of no known plan", strings.Join(l.plans, ", "))
	case l.fallbackPlan != "" && !slices.Contains(l.plans, l.fallbackPlan):
		o.fail("default_plan", "is none of the plans; there are %s", strings.Join(l.plans, ", "))
	}
}

// numbersOf reads a plan: a mapping, or the one number that matters.
func (p *loader) numbersOf(n *node, path string, base engine.Limit) (engine.Limit, *object) {
	if n.kind == kindText {
		name := "rate"
		if base.Kind == engine.InFlight {
			name = "max"
		}
		n = &node{kind: kindMap, line: n.line, col: n.col, fields: []field{{name: name, line: n.line, col: n.col, value: n}}}
	}
	o := p.r.object(n, path)
	l := o.numbers(base, false)
	if o.get("mode") != nil {
		l.Mode = o.mode("mode")
	}
	o.done()
	return l, o
}

// override is another limit for a few keys: a flash sale, or one user in shadow
// while an integration is fixed.
type override struct {
	name     string
	keys     [][]string // parts as a key has them
	until    time.Time  // zero: for good
	variants []string   // names of the engine's limits, as many as the limit's variants, or one for all
}

// readOverrides reads the overrides of a limit.
func (p *loader) readOverrides(l *limit, o *object) {
	n := o.get("overrides")
	if n == nil {
		return
	}
	if l.all {
		o.fail("overrides", "has no key beside it of which one value could be overridden")
		return
	}
	list := o.r.object(n, o.path+".overrides")
	first := map[string]string{}
	for _, f := range list.n.fields {
		list.known = append(list.known, f.name)
		path := join(list.path, f.name)
		if !limitName.MatchString(f.name) {
			o.r.failAt(f, path, "can't be the name of an override: letters, digits, _, - and '.'")
		}
		v := p.override(l, f, o.r.object(f.value, path))
		for _, k := range v.keys {
			id := strconv.Quote(strings.Join(k, "\x00"))
			if other := first[id]; other != "" {
				o.r.failAt(f, path, "has a key that the override %s has too", other)
			}
			first[id] = f.name
		}
		l.overrides = append(l.overrides, v)
	}
	list.done()
}

func (p *loader) override(l *limit, f field, o *object) override {
	v := override{name: f.name, keys: p.overrideKeys(l, o)}
	at := &node{line: f.line, col: f.col}
	if s, n := o.text("until"); n != nil {
		var err error
		if v.until, err = time.Parse(time.RFC3339, s); err != nil {
			o.fail("until", "is no moment; write it as 2026-12-24T18:00:00Z")
		}
	}
	numbers := o.has("kind")
	for _, name := range numberFields {
		numbers = numbers || o.has(name)
	}
	if !numbers && !o.has("mode") {
		o.fail("", "changes nothing; give it a mode or numbers")
	}
	for i, base := range l.variants {
		j := slices.IndexFunc(p.cfg.Limits, func(e engine.Limit) bool { return e.Name == base })
		if j < 0 || i > 0 && numbers {
			break // numbers of its own are the same whatever the plan
		}
		e := p.cfg.Limits[j]
		if e.Name = base + "." + f.name; numbers {
			e.Name = l.name + "." + f.name
		}
		e = o.numbers(e, len(l.plans) == 0 || !numbers)
		if o.get("mode") != nil {
			e.Mode = o.mode("mode")
		}
		v.variants = append(v.variants, e.Name)
		p.add(at, o, e)
	}
	o.done()
	return v
}

// overrideKeys reads the keys of an override, brought into the form that a
// request's have.
func (p *loader) overrideKeys(l *limit, o *object) (keys [][]string) {
	n := o.get("keys")
	if n == nil {
		if !o.has("keys") {
			o.fail("keys", "is missing; write the keys it is for")
		}
		return nil
	}
	if n.kind != kindList {
		n = &node{kind: kindList, line: n.line, col: n.col, items: []*node{n}}
	} else if len(n.items) == 0 {
		o.fail("keys", "is an empty list; write the keys it is for")
	}
	for i, it := range n.items {
		path := o.path + ".keys[" + strconv.Itoa(i) + "]"
		values := o.r.texts(it, path)
		if len(values) != len(l.key) {
			if len(values) > 0 {
				o.r.fail(it, path, "has %d values, and the limit's key has %d parts", len(values), len(l.key))
			}
			continue
		}
		var parts []string
		for j, v := range values {
			s, problem := l.key[j].normal(v.text)
			if problem != "" {
				o.r.fail(v, path, "%s", problem)
				continue
			}
			parts = append(parts, s)
		}
		if len(parts) == len(l.key) {
			keys = append(keys, parts)
		}
	}
	return keys
}

// normal is a value written in the file in the form that a request's has.
func (p *part) normal(s string) (v, problem string) {
	switch p.from {
	case fromAddress:
		a, ok := key.ParseAddr(s)
		if !ok {
			return "", "is no address, which that part of the key is"
		}
		return string(key.AppendPrefix(nil, a, p.bits4, p.bits6)), ""
	case fromMethod:
		return methodName(s), ""
	}
	if p.fold {
		s = key.Fold(s)
	}
	if len(s) > maxValue || s == "" {
		return "", "is no value that a request can have"
	}
	return s, ""
}
