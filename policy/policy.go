package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// Policy is a policy file that has been read and found right. It does not
// change and is safe for concurrent use.
type Policy struct {
	file       string
	data       []byte
	options    []Option // as given, for a reload
	opts       options
	cfg        engine.Config
	proxies    key.Networks
	header     string       // that carries a class, from peers in headerFrom only
	headerFrom key.Networks // "" and empty: no header is believed
	exempt     []pattern
	free       []freePath // the exempt paths of any host
	classes    []classRule
	limits     []*limit
}

// freePath is a path that no layer touches.
type freePath struct {
	path    string
	methods methods
}

// Parse reads a policy. The name stands for the file in errors, which are
// [Errors]: all that is wrong, each with its line, column and field.
func Parse(name string, data []byte, opts ...Option) (*Policy, error) {
	p, _, err := parse(name, data, opts)
	return p, err
}

// Load reads a policy file. The file must end with a line of three dots, YAML's
// end of a document: without it a file that is being written, or was cut off,
// could pass for a policy with fewer limits. Errors are as in [Parse].
func Load(path string, opts ...Option) (*Policy, error) {
	data, err := read(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	return load(path, data, opts)
}

// read returns as much of a file as it takes to see that it is too large.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxBytes+1))
}

// load is Parse for the content of a file.
func load(path string, data []byte, opts []Option) (*Policy, error) {
	p, ended, err := parse(path, data, opts)
	if !ended {
		cut := &Error{File: path, Line: 1 + bytes.Count(data, []byte("\n")), Column: 1,
			Problem: `does not end with "..." and may be cut off; put a line of three dots at its end`}
		var es Errors
		if errors.As(err, &es) || err == nil {
			return nil, append(es, cut).sorted()
		}
	}
	return p, err
}

// fileError reports a file that can't be read.
func fileError(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err // its path is the file's
	}
	return fmt.Errorf("policy: %s: %w", path, err)
}

// Config returns the engine configuration that the policy describes, over what
// [Base] gave. The caller may change the copy; changes that a policy could make
// are lost at the next reload.
func (p *Policy) Config() engine.Config {
	cfg := p.cfg
	cfg.Limits = slices.Clone(cfg.Limits)
	return cfg
}

// parse reads the text and reports whether its end is marked.
func parse(name string, data []byte, opts []Option) (p *Policy, ended bool, err error) {
	p = &Policy{file: name, data: bytes.Clone(data), options: opts}
	for _, o := range opts {
		o(&p.opts)
	}
	r := &reader{file: name}
	root, ended := r.parse(data)
	if root != nil {
		l := loader{Policy: p, r: r, root: root}
		l.read(r.object(root, ""))
	}
	if len(r.errs) > 0 {
		return nil, ended || root == nil, r.errs.sorted()
	}
	return p, ended, nil
}

// loader reads a file into a policy.
type loader struct {
	*Policy
	r      *reader
	root   *node
	places []place // of the engine's limits, in their order
}

// place is where something of the engine's configuration comes from.
type place struct {
	at     *node // the name, nil for the file
	path   string
	fields *node
}

// read reads the file's sections.
func (p *loader) read(o *object) {
	p.cfg = p.opts.base
	p.cfg.Limits = nil
	p.cfg.MaxEntries = int(o.number("max_entries", 1, 1<<31-1, 0))
	p.cfg.Default = o.class("default_class")
	p.proxies = o.networks("trusted_proxies")
	p.exempt = o.patterns("exempt")
	for i := range p.exempt {
		e := &p.exempt[i]
		path, ok := e.exact()
		if !ok {
			o.fail("exempt", "names %q, which is more than one path; only exact paths are exempt", e.text)
		}
		if e.host == "" { // a route says which host it is for, a path does not
			p.free = append(p.free, freePath{path, e.methods})
		}
	}
	p.classHeader(o)
	p.classRules(o)
	p.gate(o)
	p.ladder(o)
	p.readLimits(o)
	o.done()
	p.checkEngine()
	p.checkRules()
}

func (p *loader) gate(o *object) {
	p.cfg.Gate = engine.Gate{}
	n := o.get("gate")
	if n == nil {
		return
	}
	g := o.r.object(n, "gate")
	p.cfg.Gate = engine.Gate{
		Mode:       g.mode("mode"),
		Capacity:   int(g.number("capacity", 1, 1<<31-1, 0)),
		Reserve:    g.share("reserve", 0),
		HardCap:    int(g.number("hard_cap", 1, 1<<31-1, 0)),
		RetryAfter: g.duration("retry_after"),
	}
	if !g.has("capacity") {
		g.fail("capacity", "is missing; write how many requests the process can work on at once")
	}
	g.done()
}

// ladder reads the section ladder. Without it the ladder is off: nothing sheds
// that the file does not name.
func (p *loader) ladder(o *object) {
	p.cfg.Ladder.Mode, p.cfg.Ladder.RetryAfter = engine.Off, 0
	n := o.get("ladder")
	if n == nil {
		return
	}
	l := o.r.object(n, "ladder")
	p.cfg.Ladder.Mode = l.mode("mode")
	p.cfg.Ladder.RetryAfter = l.duration("retry_after")
	l.done()
}

// networks returns the field as a set of addresses and ranges.
func (o *object) networks(name string) key.Networks {
	var list []string
	for _, n := range o.texts(name) {
		if _, err := key.ParseNetworks(n.text); err != nil {
			o.r.fail(n, join(o.path, name), "is neither an address nor a range such as 10.0.0.0/8")
			continue
		}
		list = append(list, n.text)
	}
	set, err := key.ParseNetworks(list...)
	if err != nil { // each has just been read
		o.fail(name, "%v", err)
	}
	return set
}
