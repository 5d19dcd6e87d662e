package policy

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// classRule gives a class to the requests it matches. The first rule that
// matches decides.
type classRule struct {
	class      engine.Class
	match      match
	credential part // with prefixes: only requests whose credential begins with one
	prefixes   []string
}

// always reports whether the rule takes every request.
func (c *classRule) always() bool {
	return len(c.match.patterns) == 0 && c.match.methods == allMethods && len(c.prefixes) == 0
}

var classNames = []string{"test", "read", "write", "critical"}

// class returns the field as a class; ClassUnset when it is not there.
func (o *object) class(name string) engine.Class {
	if !o.has(name) {
		o.get(name)
		return engine.ClassUnset
	}
	return engine.Test + engine.Class(o.oneOf(name, classNames...))
}

// classRules reads the section classes.
func (p *loader) classRules(o *object) {
	n := o.get("classes")
	if n == nil {
		return
	}
	if n.kind != kindList {
		o.fail("classes", "is %s; it must be a list of rules", n.kind)
		return
	}
	taken := 0 // line of a rule that takes everything
	for i, it := range n.items {
		c := o.r.object(it, "classes["+strconv.Itoa(i)+"]")
		rule := classRule{class: c.class("class"), match: c.match()}
		if !c.has("class") {
			c.fail("class", "is missing; write one of %s", strings.Join(classNames, ", "))
		}
		if at := c.get("credential"); at != nil {
			if s, ok := o.r.text(at, c.path+".credential"); ok && s != "" {
				rule.credential, _ = o.r.part(at, c.path+".credential", &p.opts.extractors)
				if rule.credential.from == fromAddress {
					c.fail("credential", "is an address, which begins with nothing")
				}
			}
		}
		for _, pre := range c.texts("prefix") {
			rule.prefixes = append(rule.prefixes, pre.text)
		}
		if c.has("credential") != c.has("prefix") {
			c.fail("credential", "and prefix belong together, such as credential: header X-Api-Key and prefix: test_")
		}
		c.done()
		if taken > 0 {
			o.r.fail(&node{line: it.line, col: it.col}, c.path, "can never apply: the rule in line %d takes every request", taken)
		} else if rule.always() && it.kind == kindMap {
			taken = it.line
		}
		p.classes = append(p.classes, rule)
	}
}

// classHeader reads the section class_header.
func (p *loader) classHeader(o *object) {
	n := o.get("class_header")
	if n == nil {
		return
	}
	h := o.r.object(n, "class_header")
	name, _ := h.text("name")
	p.header = http.CanonicalHeaderKey(name)
	p.headerFrom = h.networks("from")
	switch {
	case !h.has("name"):
		h.fail("name", "is missing; write the header that carries the class")
	case name != "" && !isHeader(name):
		h.fail("name", "can't be a header's name")
	}
	if !h.has("from") {
		h.fail("from", "is missing; write the addresses of the peers that are believed, since anyone can send a header")
	}
	h.done()
}

// classify returns the class of a request on a route whose rules are given;
// ClassUnset when none applies.
func (s *snapshot) classify(rules []routeRule, a Attrs, m methods) engine.Class {
	if s.policy.header != "" {
		if c, ok := s.announced(a); ok {
			return c
		}
	}
	for _, r := range rules {
		if r.methods&m != 0 && (len(r.rule.prefixes) == 0 || r.rule.begins(a)) {
			return r.rule.class
		}
	}
	return engine.ClassUnset
}

// announced returns the class that a trusted peer says the request has. Only
// the other end of the connection counts, never an address out of a header, and
// only the names of the closed set.
func (s *snapshot) announced(a Attrs) (engine.Class, bool) {
	d, ok := a.(DirectPeer)
	if !ok || !s.policy.headerFrom.Contains(key.Canonical(d.DirectPeer())) {
		return engine.ClassUnset, false
	}
	return engine.ParseClass(a.Header(s.policy.header))
}

// begins reports whether the request's credential begins with one of the
// prefixes. A credential that is not to be had begins with none.
func (c *classRule) begins(a Attrs) bool {
	v, ok, _ := c.credential.value(a)
	if !ok {
		return false
	}
	for _, p := range c.prefixes {
		if strings.HasPrefix(v, p) {
			return true
		}
	}
	return false
}
