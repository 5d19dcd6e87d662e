package policy

import (
	"slices"
	"strings"

	"github.com/weir-go/weir/engine"
)

// engineFields are the engine's words for what the file calls otherwise, in the
// order in which they are looked for.
var engineFields = []struct{ engine, file string }{
	{"post-paid", "post_paid"}, {"reset at", "reset_at"}, {"retry after", "retry_after"}, {"hard cap", "hard_cap"},
	{"max entries", "max_entries"}, {"burst", "burst"}, {"rate", "rate"}, {"per", "rate"}, {"window", "rate"}, {"zone", "zone"},
	{"max", "max"}, {"sync", "sync"}, {"kind", "kind"}, {"capacity", "capacity"}, {"reserve", "reserve"},
	{"default", "default_class"}, {"name", ""},
}

// maxRules is for how many limits an engine can count; one whose cost is known
// only afterwards counts twice, and a synced one lives elsewhere.
const maxRules = 255

// checkRules says at which number of limits the engine would be refused: when one
// is made, it is too late to name a line.
func (p *loader) checkRules() {
	n := 0
	for _, l := range p.cfg.Limits {
		switch {
		case l.Sync.Mode != engine.SyncOff, l.Kind == engine.Block, l.Kind == engine.Unlimited:
		case l.PostPaid:
			n += 2
		default:
			n++
		}
	}
	if n <= maxRules {
		return
	}
	p.r.failAt(*find(p.root, "limits"), "limits",
		"are %d to count by, and an engine can count by %d; every plan and every override is one, post_paid takes two, and a synced limit none", n, maxRules)
}

// checkEngine lets the engine look at the configuration, and brings what it
// finds back to the lines of the file.
func (p *loader) checkEngine() {
	if len(p.r.errs) > 0 {
		return // what could not be read would be reported twice
	}
	rest := p.cfg
	rest.Limits = nil
	if p.opts.extractors.any {
		// The secret and the fleet are the service's, which is not here.
		rest.Sync, rest.Secret = struct{ engine.Syncer }{}, make([]byte, 16)
	}
	for _, problem := range problems(rest) {
		section, text, _ := strings.Cut(problem, ": ")
		if at := find(p.root, section); at != nil {
			p.failEngine(place{&node{line: at.line, col: at.col}, section, at.value}, text)
		} else {
			p.failEngine(place{nil, "", p.root}, problem)
		}
	}
	for i, l := range p.cfg.Limits {
		one := engine.Config{Limits: []engine.Limit{l}, Sync: rest.Sync, Secret: rest.Secret}
		for _, problem := range problems(one) {
			_, text, _ := strings.Cut(problem, `": `) // behind limit "name"
			p.failEngine(p.places[i], text)
		}
	}
}

// problems is what the engine says against a configuration.
func problems(cfg engine.Config) (out []string) {
	err := cfg.Validate()
	if err == nil {
		return nil
	}
	list := []error{err}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		list = all.Unwrap()
	}
	for _, e := range list {
		out = append(out, strings.TrimPrefix(e.Error(), "engine: "))
	}
	return out
}

// failEngine records what the engine said about a place, at the field that it
// names first.
func (p *loader) failEngine(at place, problem string) {
	best, field := len(problem), ""
	for _, f := range engineFields {
		if i := strings.Index(problem, f.engine); i >= 0 && i < best {
			best, field = i, f.file
		}
	}
	if f := find(at.fields, field); f != nil {
		p.r.fail(f.value, join(at.path, field), "%s", problem)
		return
	}
	p.r.fail(at.at, join(at.path, field), "%s", problem)
}

// find returns the field of a mapping, nil when it has none of that name.
func find(n *node, name string) *field {
	if i := slices.IndexFunc(n.fields, func(f field) bool { return f.name == name }); i >= 0 {
		return &n.fields[i]
	}
	return nil
}
