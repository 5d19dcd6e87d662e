package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Error is one fault of a policy file, at its place.
type Error struct {
	File         string
	Line, Column int    // from 1; 0: the file as a whole
	Field        string // the path of the field, such as "limits.login.rate"; "" is the file
	Value        string // what stands there; "" when nothing does
	Problem      string // what is wrong and what to write instead
}

// Error is "policy: file:line:column: field "value": problem".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("policy: ")
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Field != "" {
		b.WriteString(e.Field)
		if e.Value != "" {
			b.WriteByte(' ')
			b.WriteString(strconv.Quote(e.Value))
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Problem)
	return b.String()
}

// Errors is everything that is wrong with a policy file, in the order of its
// lines. errors.As finds the single [Error]s.
type Errors []*Error

// Error is the faults, one a line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the single faults.
func (es Errors) Unwrap() []error {
	all := make([]error, len(es))
	for i, e := range es {
		all[i] = e
	}
	return all
}

// sorted returns the faults in the order of their places.
func (es Errors) sorted() Errors {
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return es
}
