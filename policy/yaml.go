package policy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// node is one value of the file with its place. It is what is left of YAML:
// text, lists and mappings; anchors, aliases, tags and merge keys are refused,
// because a policy must say what it means where it means it.
type node struct {
	line, col int
	kind      nodeKind
	text      string // kindText
	items     []*node
	fields    []field // kindMap, in the order of the file
}

type nodeKind uint8

const (
	kindEmpty nodeKind = iota // nothing behind the colon, or null
	kindVoid                  // what has been refused: nothing more is to be said of it
	kindText
	kindList
	kindMap
)

func (k nodeKind) String() string {
	return [...]string{"nothing", "refused", "a single value", "a list", "a mapping"}[k]
}

type field struct {
	name      string
	line, col int
	value     *node
}

// maxBytes bounds what is read as a policy: the time the YAML parser takes grows
// with the square of some inputs. maxDepth bounds how deep it may nest.
const (
	maxBytes = 128 << 10
	maxDepth = 16
)

// reader collects what is wrong with one file.
type reader struct {
	file string
	errs Errors
}

// fail records a fault at a place.
func (r *reader) fail(n *node, path, problem string, args ...any) {
	e := &Error{File: r.file, Field: path, Problem: fmt.Sprintf(problem, args...)}
	if n != nil {
		e.Line, e.Column, e.Value = n.line, n.col, n.text
	}
	r.errs = append(r.errs, e)
}

// failAt is fail for the name of a field.
func (r *reader) failAt(f field, path, problem string, args ...any) {
	r.fail(&node{line: f.line, col: f.col}, path, problem, args...)
}

// parse reads the text as one YAML document whose root is a mapping. ended
// reports whether its end is marked with "...". A nil root is a file that can't
// be read at all; the reason has been recorded.
func (r *reader) parse(data []byte) (root *node, ended bool) {
	if len(data) > maxBytes {
		r.fail(nil, "", "is larger than %d bytes", maxBytes)
		return nil, false
	}
	if at := tooDeep(data); at != nil {
		r.fail(at, "", "is nested more than %d deep", maxBrackets)
		return nil, false
	}
	f, err := parseYAML(bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		e := &Error{File: r.file}
		var syntax *yaml.SyntaxError
		if errors.As(err, &syntax) { // its Error would print the whole file around the place
			e.Problem = "not YAML: " + syntax.Message
			if syntax.Token != nil && syntax.Token.Position != nil {
				e.Line, e.Column = syntax.Token.Position.Line, syntax.Token.Position.Column
				e.Problem += braces(data, e.Line)
			}
		} else {
			e.Problem = "not YAML: " + err.Error()
		}
		r.errs = append(r.errs, e)
		return nil, false
	}
	var doc *ast.DocumentNode
	for _, d := range f.Docs {
		if d.Body == nil {
			continue
		}
		if doc != nil {
			n := r.node(d.Body, "", 0)
			r.fail(&node{line: n.line, col: n.col}, "", "a second document begins here; a policy is one")
			return nil, false
		}
		doc = d
	}
	if doc == nil {
		r.fail(nil, "", "is empty")
		return nil, false
	}
	root = r.node(doc.Body, "", 0)
	switch root.kind {
	case kindMap:
	case kindVoid:
		return nil, false
	default:
		r.fail(&node{line: root.line, col: root.col}, "", "is %s; a policy is a mapping, such as limits: ...", root.kind)
		return nil, false
	}
	return root, doc.End != nil
}

// braces is a hint for the line of a syntax fault: a route with a wildcard is
// no plain text within brackets.
func braces(data []byte, line int) string {
	lines := strings.Split(string(data), "\n")
	if line > len(lines) || !strings.Contains(lines[line-1], "/{") {
		return ""
	}
	return `; put a route with braces into quotes, such as ["GET /users/{id}"]`
}

// maxBrackets is how many brackets may be open at once, those in texts and
// comments included: the parser's time grows with the square of it.
const maxBrackets = 4 * maxDepth

// tooDeep returns the place of a bracket too many; nil when there is none.
func tooDeep(data []byte) *node {
	open, at := 0, node{line: 1}
	for _, c := range string(data) {
		at.col++
		switch c {
		case '\n':
			at.line, at.col = at.line+1, 0
		case '[', '{':
			if open++; open > maxBrackets {
				return &at
			}
		case ']', '}':
			open = max(0, open-1)
		}
	}
	return nil
}

// parseYAML guards against a parser that panics on strange input: a policy
// file must never take the process down.
func parseYAML(data []byte) (f *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	// Duplicates are let through here and reported with everything else.
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

// node converts one YAML value. What is refused is recorded and read as
// kindVoid.
func (r *reader) node(a ast.Node, path string, depth int) *node {
	n := &node{}
	if t := a.GetToken(); t != nil && t.Position != nil {
		n.line, n.col = t.Position.Line, t.Position.Column
	}
	if depth > maxDepth {
		r.fail(n, path, "is nested more than %d deep", maxDepth)
		n.kind = kindVoid
		return n
	}
	switch a := a.(type) {
	case *ast.NullNode:
	case *ast.StringNode:
		n.kind, n.text = kindText, a.Value
	case *ast.LiteralNode:
		n.kind, n.text = kindText, a.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		n.kind, n.text = kindText, a.GetToken().Value
	case *ast.SequenceNode:
		n.kind = kindList
		for i, v := range a.Values {
			n.items = append(n.items, r.node(v, fmt.Sprintf("%s[%d]", path, i), depth+1))
		}
	case *ast.MappingNode:
		n.kind = kindMap
		for i, v := range a.Values {
			f := r.field(v, path, depth)
			if i == 0 && !a.IsFlowStyle {
				n.line, n.col = f.line, f.col
			}
			n.fields = append(n.fields, f)
		}
	case *ast.MappingValueNode:
		f := r.field(a, path, depth)
		n.kind, n.fields, n.line, n.col = kindMap, []field{f}, f.line, f.col
	default:
		what := "is no plain YAML"
		switch a.(type) {
		case *ast.AnchorNode, *ast.AliasNode:
			what = "is a YAML anchor or alias"
		case *ast.TagNode:
			what = "is a YAML tag"
		}
		r.fail(n, path, "%s; a policy has none, write the value out", what)
		n.kind = kindVoid
	}
	return n
}

func (r *reader) field(v *ast.MappingValueNode, path string, depth int) field {
	f := field{}
	if t := v.Key.GetToken(); t != nil && t.Position != nil {
		f.line, f.col = t.Position.Line, t.Position.Column
	}
	switch k := v.Key.(type) {
	case *ast.StringNode:
		f.name = k.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		f.name = k.GetToken().Value
	default:
		f.name = strings.TrimSpace(k.String())
		r.failAt(f, join(path, f.name), "is no plain name")
	}
	if v.Value == nil {
		f.value = &node{line: f.line, col: f.col}
		return f
	}
	f.value = r.node(v.Value, join(path, f.name), depth+1)
	if f.value.kind == kindEmpty { // nothing is nowhere: point at the name
		f.value.line, f.value.col = f.line, f.col
	}
	return f
}

func join(path, name string) string {
	switch {
	case path == "":
		return name
	case name == "":
		return path
	}
	return path + "." + name
}
