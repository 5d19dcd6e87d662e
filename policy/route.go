package policy

import (
	"fmt"
	"net/http"
	"strings"
)

// pattern is a route in the syntax of [http.ServeMux]: "[METHOD ][HOST]/PATH".
type pattern struct {
	text    string
	methods methods
	host    string
	path    []string // segments: text, "{}" for one wildcard, "{...}" for the rest, "{$}" for the end
}

// parsePattern reads a pattern. Whether it is one is for ServeMux to say.
func parsePattern(s string) (p pattern, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	http.NewServeMux().Handle(s, http.NotFoundHandler()) // panics for what is none
	return splitPattern(s), nil
}

// splitPattern takes a pattern apart that a mux has accepted. Others come out
// as something that matches no request that the mux would not have matched.
func splitPattern(s string) pattern {
	p := pattern{text: s, methods: allMethods}
	if m, rest, ok := strings.Cut(s, " "); ok {
		p.methods, s = method(m), strings.TrimLeft(rest, " \t")
	}
	i := strings.IndexByte(s, '/')
	if i < 0 {
		p.host = s
		return p
	}
	p.host = s[:i]
	for _, seg := range strings.Split(s[i+1:], "/") {
		switch {
		case seg == "{$}":
		case strings.HasPrefix(seg, "{") && strings.HasSuffix(seg, "...}"):
			seg = "{...}"
		case strings.HasPrefix(seg, "{") && strings.HasSuffix(seg, "}"):
			seg = "{}"
		}
		p.path = append(p.path, seg)
	}
	if p.path[len(p.path)-1] == "" { // "/a/" is everything below
		p.path[len(p.path)-1] = "{...}"
	}
	return p
}

// exact returns the one path that the pattern stands for; false when it stands
// for more.
func (p *pattern) exact() (path string, ok bool) {
	for _, seg := range p.path {
		if seg == "{}" || seg == "{...}" {
			return "", false
		}
		if seg == "{$}" {
			seg = ""
		}
		path += "/" + seg
	}
	return path, true
}

// covers reports whether every path that matches the route matches p too.
// Methods are for the caller.
func (p *pattern) covers(route *pattern) bool {
	if p.host != "" && p.host != route.host {
		return false
	}
	for i, seg := range p.path {
		switch {
		case seg == "{...}":
			// "/a/" is "/a/" and all below it, and not "/a".
			return i < len(route.path)
		case i >= len(route.path):
			return false
		case seg == "{}":
			if r := route.path[i]; r == "{...}" || r == "{$}" {
				return false
			}
		case seg != route.path[i]:
			return false
		}
	}
	return len(p.path) == len(route.path)
}

// match says which requests something is for: those whose route is covered by
// one of the patterns and whose method is in the set. No patterns: every route.
type match struct {
	patterns []pattern
	methods  methods
}

// on returns the methods with which the route matches.
func (m *match) on(route *pattern) methods {
	if len(m.patterns) == 0 {
		return m.methods
	}
	var set methods
	for i := range m.patterns {
		if p := &m.patterns[i]; p.covers(route) {
			set |= p.methods
		}
	}
	return set & m.methods
}

// match reads the fields routes and methods.
func (o *object) match() match {
	m := match{methods: o.methods("methods"), patterns: o.patterns("routes")}
	for i := range m.patterns {
		if p := &m.patterns[i]; p.methods&m.methods == 0 {
			o.fail("methods", "leaves nothing of the route %q", p.text)
		}
	}
	return m
}

// patterns returns the field as patterns of routes.
func (o *object) patterns(name string) []pattern {
	var out []pattern
	for _, n := range o.texts(name) {
		p, err := parsePattern(n.text)
		if err != nil {
			o.r.fail(n, join(o.path, name), `is no route pattern (%v); write it as for http.ServeMux, such as "GET /users/{id}"`, err)
			continue
		}
		if p.methods == otherMethod {
			o.r.fail(n, join(o.path, name), "has a method of its own making; there are %s", strings.Join(methodNames[:], ", "))
			continue
		}
		out = append(out, p)
	}
	return out
}
