package policy

import (
	"slices"
	"strconv"
	"strings"
)

// object reads the fields of one mapping. Fields are known because someone asks
// for them: done refuses the rest, so that a misspelt name never means a
// default.
type object struct {
	r     *reader
	n     *node
	path  string
	known []string
	void  bool // no mapping: that has been said, and is all there is to say
}

// object returns a reader of n's fields. For anything but a mapping it records
// the fault and returns one without fields.
func (r *reader) object(n *node, path string) *object {
	o := &object{r: r, n: n, path: path}
	if n.kind != kindMap {
		switch n.kind {
		case kindVoid:
		case kindEmpty:
			r.fail(n, path, "is empty; fill it or take it out")
		default:
			r.fail(n, path, "is %s; it must be a mapping", n.kind)
		}
		o.n, o.void = &node{line: n.line, col: n.col, kind: kindMap}, true
	}
	return o
}

// get returns the value of a field, nil when it is not there. A field that is
// there must have a value.
func (o *object) get(name string) *node {
	o.known = append(o.known, name)
	for _, f := range o.n.fields {
		if f.name != name {
			continue
		}
		switch f.value.kind {
		case kindVoid:
			return nil
		case kindEmpty:
			o.r.fail(f.value, join(o.path, name), "is empty; give it a value or take it out")
			return nil
		}
		return f.value
	}
	return nil
}

// has reports whether the field is there, with or without a value.
func (o *object) has(name string) bool {
	return slices.ContainsFunc(o.n.fields, func(f field) bool { return f.name == name })
}

// fail records a fault of a field; without such a field, of the object.
func (o *object) fail(name, problem string, args ...any) {
	for _, f := range o.n.fields {
		if f.name == name {
			o.r.fail(f.value, join(o.path, name), problem, args...)
			return
		}
	}
	if !o.void {
		o.r.fail(&node{line: o.n.line, col: o.n.col}, join(o.path, name), problem, args...)
	}
}

// text returns the field as text.
func (o *object) text(name string) (string, *node) {
	n := o.get(name)
	if n == nil {
		return "", nil
	}
	s, ok := o.r.text(n, join(o.path, name))
	if !ok {
		return "", nil
	}
	return s, n
}

// text returns n as text that is not blank.
func (r *reader) text(n *node, path string) (string, bool) {
	switch {
	case n.kind != kindText:
		r.fail(n, path, "is %s; it must be a single value", n.kind)
		return "", false
	case strings.TrimSpace(n.text) == "":
		r.fail(n, path, "is blank; give it a value or take it out")
		return "", false
	}
	return n.text, true
}

// texts returns the field as one or more texts: a single value or a list.
func (o *object) texts(name string) []*node {
	n := o.get(name)
	if n == nil {
		return nil
	}
	return o.r.texts(n, join(o.path, name))
}

func (r *reader) texts(n *node, path string) []*node {
	items := n.items
	if n.kind != kindList {
		items = []*node{n}
	} else if len(items) == 0 {
		r.fail(n, path, "is an empty list; fill it or take it out")
	}
	var out []*node
	for i, it := range items {
		p := path
		if n.kind == kindList {
			p += "[" + strconv.Itoa(i) + "]"
		}
		switch it.kind {
		case kindVoid:
		case kindEmpty:
			r.fail(it, p, "is empty; give it a value or take it out")
		default:
			if _, ok := r.text(it, p); ok {
				out = append(out, it)
			}
		}
	}
	return out
}

// number returns the field as an integer in a range; def when it is not there.
func (o *object) number(name string, least, most, def int64) int64 {
	s, n := o.text(name)
	if n == nil {
		return def
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		o.fail(name, "is not a whole number")
		return def
	}
	if v < least || v > most {
		o.fail(name, "must be from %d to %d", least, most)
		return def
	}
	return v
}

// flag returns the field as true or false.
func (o *object) flag(name string) bool {
	s, n := o.text(name)
	if n != nil && s != "true" && s != "false" {
		o.fail(name, "must be true or false")
	}
	return s == "true"
}

// oneOf returns the position of the field's value in names; 0 when the field is
// not there or is none of them.
func (o *object) oneOf(name string, names ...string) int {
	s, n := o.text(name)
	if n == nil {
		return 0
	}
	i := slices.Index(names, s)
	if i < 0 {
		o.fail(name, "must be one of %s", strings.Join(names, ", "))
		return 0
	}
	return i
}

// done refuses the fields that nobody has asked for, and those that are there
// twice.
func (o *object) done() {
	seen := map[string]field{}
	for _, f := range o.n.fields {
		path := join(o.path, f.name)
		if first, twice := seen[f.name]; twice {
			o.r.failAt(f, path, "is there twice, first in line %d", first.line)
			continue
		}
		seen[f.name] = f
		if !slices.Contains(o.known, f.name) {
			o.r.failAt(f, path, "is no field%s", o.hint(f.name))
		}
	}
}

// hint names the field that was probably meant, or all there are.
func (o *object) hint(name string) string {
	name = strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	best, dist := "", 3
	for _, k := range o.known {
		if d := distance(name, k); d < dist {
			best, dist = k, d
		}
	}
	if best != "" {
		return "; did you mean " + best + "?"
	}
	known := slices.Clone(o.known)
	slices.Sort(known)
	return "; there are " + strings.Join(slices.Compact(known), ", ")
}

// distance is the number of letters to insert, delete, replace or swap.
func distance(a, b string) int {
	if len(a) > 64 {
		return len(a)
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := range len(a) {
		before, prev, cur := rows[0], rows[1], rows[2]
		cur[0] = i + 1
		for j := range len(b) {
			c := 1
			if a[i] == b[j] {
				c = 0
			}
			cur[j+1] = min(prev[j]+c, prev[j+1]+1, cur[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cur[j+1] = min(cur[j+1], before[j-1]+1)
			}
		}
		rows = [3][]int{prev, cur, before}
	}
	return rows[1][len(b)]
}
