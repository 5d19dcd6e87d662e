package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// mutant is one change of one file: the bytes from..to become text.
type mutant struct {
	file     string // relative to the root
	line     int
	fn       string
	from, to int
	text     string
	was      string // the source line or statement, in one line
	now      string
}

// id names the mutant without line numbers, so that it survives edits
// elsewhere in the file.
func (m mutant) id() string {
	return fmt.Sprintf("%s %s: %s => %s", m.file, m.fn, m.was, m.now)
}

func (m mutant) String() string { return fmt.Sprintf("%s:%d %s", m.file, m.line, m.id()) }

// overlay returns the changed contents by absolute path.
func (m mutant) overlay(root string) map[string][]byte {
	path := filepath.Join(root, m.file)
	src, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	out := append([]byte{}, src[:m.from]...)
	out = append(out, m.text...)
	return map[string][]byte{abs: append(out, src[m.to:]...)}
}

// swaps are the operators that take each other's place.
var swaps = map[token.Token][]token.Token{
	token.ADD:     {token.SUB},
	token.SUB:     {token.ADD},
	token.MUL:     {token.ADD},
	token.QUO:     {token.MUL},
	token.REM:     {token.MUL},
	token.AND:     {token.OR},
	token.OR:      {token.AND},
	token.XOR:     {token.OR},
	token.AND_NOT: {token.AND},
	token.SHL:     {token.SHR},
	token.SHR:     {token.SHL},
	token.LSS:     {token.LEQ, token.GEQ},
	token.LEQ:     {token.LSS, token.GTR},
	token.GTR:     {token.GEQ, token.LEQ},
	token.GEQ:     {token.GTR, token.LSS},
	token.EQL:     {token.NEQ},
	token.NEQ:     {token.EQL},
	token.LAND:    {token.LOR},
	token.LOR:     {token.LAND},

	token.ADD_ASSIGN: {token.SUB_ASSIGN},
	token.SUB_ASSIGN: {token.ADD_ASSIGN},
	token.SHL_ASSIGN: {token.SHR_ASSIGN},
	token.SHR_ASSIGN: {token.SHL_ASSIGN},
	token.INC:        {token.DEC},
	token.DEC:        {token.INC},
}

// collector gathers the mutants of one file.
type collector struct {
	fset *token.FileSet
	src  []byte
	file string
	fn   string
	out  []mutant
}

// mutants returns every mutant of the package's ordinary files, in order.
func mutants(root, pkg, tags string) ([]mutant, error) {
	ctx := build.Default
	if tags != "" {
		ctx.BuildTags = strings.Split(tags, ",")
	}
	dir := filepath.Join(root, pkg)
	p, err := ctx.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	var out []mutant
	for _, name := range p.GoFiles {
		path := filepath.Join(dir, name)
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		c := &collector{fset: token.NewFileSet(), src: src, file: filepath.ToSlash(filepath.Join(filepath.Clean(pkg), name))}
		f, err := parser.ParseFile(c.fset, path, src, 0)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && fn.Name.Name != "String" {
				c.fn = fn.Name.Name
				ast.Inspect(fn.Body, c.node)
			}
		}
		out = append(out, c.out...)
	}
	return out, nil
}

func (c *collector) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		c.operator(n, n.OpPos, n.Op)
	case *ast.AssignStmt:
		c.operator(n, n.TokPos, n.Tok)
		if n.Tok != token.DEFINE {
			c.remove(n)
		}
	case *ast.IncDecStmt:
		c.operator(n, n.TokPos, n.Tok)
		c.remove(n)
	case *ast.ExprStmt, *ast.DeferStmt:
		c.remove(n)
	case *ast.IfStmt:
		// The branch is never taken; swapping its comparison is another mutant.
		c.replace(n.Cond, n.Cond.Pos(), n.Cond.End(), "false && ("+c.text(n.Cond)+")")
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "min" || id.Name == "max") {
			other := map[string]string{"min": "max", "max": "min"}[id.Name]
			c.replace(n, id.Pos(), id.End(), other)
		}
		if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Errorf" {
			return false // texts
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil && n.Kind == token.INT {
			c.replace(n, n.Pos(), n.End(), strconv.FormatInt(v+1, 10))
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			c.replace(n, n.Pos(), n.Pos()+1, "")
		}
	case *ast.BranchStmt:
		if n.Tok == token.CONTINUE && n.Label == nil {
			c.replace(n, n.Pos(), n.End(), "break")
		}
	}
	return true
}

func (c *collector) operator(n ast.Node, pos token.Pos, op token.Token) {
	for _, other := range swaps[op] {
		c.replace(n, pos, pos+token.Pos(len(op.String())), other.String())
	}
}

func (c *collector) remove(n ast.Node) { c.replace(n, n.Pos(), n.End(), "") }

func (c *collector) replace(n ast.Node, from, to token.Pos, text string) {
	m := mutant{
		file: c.file, fn: c.fn, line: c.fset.Position(from).Line,
		from: c.fset.Position(from).Offset, to: c.fset.Position(to).Offset, text: text,
	}
	start, end := c.fset.Position(n.Pos()).Offset, c.fset.Position(n.End()).Offset
	m.was = oneLine(c.src[start:end])
	changed := append([]byte{}, c.src[start:m.from]...)
	changed = append(changed, text...)
	m.now = oneLine(append(changed, c.src[m.to:end]...))
	if m.now == "" {
		m.now = "(removed)"
	}
	c.out = append(c.out, m)
}

func (c *collector) text(n ast.Node) string {
	return string(c.src[c.fset.Position(n.Pos()).Offset:c.fset.Position(n.End()).Offset])
}

// oneLine is the source in one line of normal spacing.
func oneLine(src []byte) string {
	if f, err := format.Source(src); err == nil {
		src = f
	}
	s := string(bytes.Join(bytes.Fields(src), []byte(" ")))
	if len(s) > 120 {
		s = s[:117] + "..."
	}
	return s
}
