package policy

import (
	"net/http"
	"slices"
	"strings"
)

// methods is a set of HTTP methods, a bit each. HEAD is GET: it costs what its
// GET would, and is no way around a limit.
type methods uint16

const (
	otherMethod methods = 1 << 15
	allMethods  methods = 1<<16 - 1
)

var methodNames = [...]string{
	http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions, http.MethodConnect, http.MethodTrace,
}

// method returns the set that holds the one method. Methods of a client's own
// making are one: nobody gets a budget of his own by inventing them.
func method(name string) methods {
	if name == http.MethodHead {
		name = http.MethodGet
	}
	if i := slices.Index(methodNames[:], name); i >= 0 {
		return 1 << i
	}
	return otherMethod
}

// methodName is the method as a key has it.
func methodName(name string) string {
	switch {
	case name == http.MethodHead:
		return http.MethodGet
	case method(name) == otherMethod:
		return "other"
	}
	return name
}

// methods returns the field as a set of methods; all of them when it is not
// there.
func (o *object) methods(name string) methods {
	if !o.has(name) {
		o.get(name)
		return allMethods
	}
	var set methods
	for _, n := range o.texts(name) {
		m := method(n.text)
		if m == otherMethod {
			o.r.fail(n, join(o.path, name), "is no HTTP method; there are %s and HEAD, which counts as GET", strings.Join(methodNames[:], ", "))
		}
		set |= m
	}
	return set
}

func (m methods) String() string {
	if m == allMethods {
		return "any method"
	}
	var names []string
	for i, n := range methodNames {
		if m&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return strings.Join(names, ", ")
}
