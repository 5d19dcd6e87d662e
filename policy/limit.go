package policy

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/weir-go/weir/engine"
)

// limit is one entry of the section limits. It stands for one limit of the
// engine or, with plans, for one each; overrides are further ones.
type limit struct {
	name         string
	match        match
	all          bool   // one key for everybody
	key          []part // else the parts of the key
	address      int    // the part that is the address; -1: none
	missing      missing
	fallback     part // missingFallback
	refusal      string
	cost         cost
	plan         part     // with plans
	fallbackPlan string   // for a caller whose plan is none of them
	variants     []string // names of the engine's limits, one per plan
	plans        []string // names of the plans, in the order of variants
	overrides    []override
	closed       bool // fails closed
}

// missing is what happens to a request that lacks a part of the key.
type missing uint8

const (
	missingFallback missing = iota // another part is the key
	missingSkip                    // this limit does not count the request
	missingRefuse                  // the request is refused
)

// maxParts is how many parts a key may have.
const maxParts = 6

// limitName is what the engine takes as a name.
var limitName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// reserved are names that SetMode understands as something else.
var reserved = []string{"rate", "concurrency", "fleet", "worker", "all"}

// readLimits reads the section limits.
func (p *loader) readLimits(o *object) {
	n := o.get("limits")
	if n == nil {
		return
	}
	list := o.r.object(n, "limits")
	for _, f := range list.n.fields {
		list.known = append(list.known, f.name)
		path := join("limits", f.name)
		if !limitName.MatchString(f.name) || slices.Contains(reserved, f.name) {
			o.r.failAt(f, path, "can't be the name of a limit: 1 to 64 of letters, digits, _, - and '.', and not one of rate, concurrency, fleet, worker, all")
		}
		l := &limit{name: f.name}
		p.limit(l, f, o.r.object(f.value, path))
		p.limits = append(p.limits, l)
	}
	list.done()
	p.checkClaims(o)
}

// limit reads one limit.
func (p *loader) limit(l *limit, f field, o *object) {
	at := &node{line: f.line, col: f.col}
	l.match = o.match()
	base := engine.Limit{Name: l.name}
	o.behaviour(&base)
	l.closed = base.Fail == engine.FailClosed
	if o.has("plans") || o.has("plan") {
		base.Kind = engine.Kind(o.oneOf("kind", kindNames...))
		p.readKey(l, o, base.Kind)
		p.plans(l, o, base)
	} else {
		base = o.numbers(base, false)
		p.readKey(l, o, base.Kind)
		l.variants = []string{l.name}
		p.add(at, o, base)
	}
	p.readMissing(l, o, at, base)
	l.cost = o.cost("cost", &p.opts.extractors)
	p.readOverrides(l, o)
	p.checkCost(l, o)
	o.done()
}

// add adds a limit to the engine's configuration. Its name may be made of two
// names of the file, so it is looked at here.
func (p *loader) add(at *node, o *object, l engine.Limit) {
	if len(l.Name) > 64 {
		p.r.fail(at, o.path, "makes the name %q, which is longer than 64", l.Name)
	}
	if slices.ContainsFunc(p.cfg.Limits, func(o engine.Limit) bool { return o.Name == l.Name }) {
		p.r.fail(at, o.path, "makes a second limit named %q", l.Name)
	}
	p.cfg.Limits = append(p.cfg.Limits, l)
	p.places = append(p.places, place{at, o.path, o.n})
}

// readKey reads what tells callers apart.
func (p *loader) readKey(l *limit, o *object, k engine.Kind) {
	l.address = -1
	n := o.get("key")
	path := join(o.path, "key")
	if n == nil {
		l.all = true
		if !o.has("key") && len(kinds[k].fields) > 0 {
			o.fail("key", "is missing; %s, or all for one limit over everyone", partHelp)
		}
		return
	}
	if n.kind == kindText && n.text == "all" {
		l.all = true
		return
	}
	items := o.r.texts(n, path)
	if len(items) > maxParts {
		o.fail("key", "has more than %d parts", maxParts)
		items = items[:maxParts]
	}
	fingerprint := false
	for i, it := range items {
		if n.kind == kindList {
			path = join(o.path, "key") + "[" + strconv.Itoa(i) + "]"
		}
		q, ok := o.r.part(it, path, &p.opts.extractors)
		if !ok {
			continue
		}
		if slices.ContainsFunc(l.key, func(o part) bool { return o.same(&q) }) {
			o.r.fail(it, path, "is in the key already")
			continue
		}
		if q.from == fromAddress {
			l.address = len(l.key)
		}
		fingerprint = fingerprint || q.from == fromFingerprint
		l.key = append(l.key, q)
	}
	if fingerprint && l.address < 0 {
		o.fail("key", "has a fingerprint without an address: a client can send any fingerprint; write key: [address, fingerprint ...]")
	}
}

// readMissing reads what happens to requests that lack a part of the key. A
// refusal is a limit of its own that blocks, so that it has a name in metrics
// and answers, a mode and a kill switch.
func (p *loader) readMissing(l *limit, o *object, at *node, base engine.Limit) {
	l.fallback = part{from: fromAddress, text: "address", bits4: 32, bits6: 64}
	switch s, n := o.text("missing"); {
	case n == nil:
	case l.all:
		o.fail("missing", "has no key beside it of which a part could be missing")
	case s == "skip":
		l.missing = missingSkip
	case s == "refuse":
		l.missing = missingRefuse
	default:
		q, ok := o.r.part(n, join(o.path, "missing"), &p.opts.extractors)
		if ok && slices.ContainsFunc(l.key, func(o part) bool { return len(l.key) == 1 && o.same(&q) }) {
			o.fail("missing", "is the key itself; write skip, refuse or another part")
		}
		l.fallback = q
	}
	// A limit that fails closed refuses what lacks the fallback, too.
	if l.all || l.missing == missingSkip || l.missing == missingFallback && base.Fail != engine.FailClosed {
		return
	}
	l.refusal = l.name + ".missing"
	p.add(at, o, engine.Limit{Name: l.refusal, Kind: engine.Block, Mode: base.Mode, Fail: base.Fail})
}

// checkCost refuses a fixed cost that can never pass.
func (p *loader) checkCost(l *limit, o *object) {
	for _, v := range l.variants {
		i := slices.IndexFunc(p.cfg.Limits, func(e engine.Limit) bool { return e.Name == v })
		if i < 0 {
			continue
		}
		e := &p.cfg.Limits[i]
		if m := kinds[e.Kind].most(e); m > 0 && l.cost.fixed > m {
			o.fail("cost", "is above %d, the most that %s can ever grant at once: no request would pass", m, v)
		}
	}
}

// checkClaims refuses a route with more limits than a request may claim. The
// file's own patterns stand for the routes there are; a route that is covered by
// more of them than any of these is left to the engine, which counts it.
func (p *loader) checkClaims(o *object) {
	routes := []pattern{{}}
	for _, l := range p.limits {
		routes = append(routes, l.match.patterns...)
	}
	for i := range routes {
		for b := range 16 {
			n := 0
			for _, l := range p.limits {
				if l.match.on(&routes[i])&(1<<b) != 0 {
					n++
				}
			}
			if n > engine.MaxClaims {
				name := "a route that no pattern names"
				if routes[i].text != "" {
					name = "the route " + strconv.Quote(routes[i].text)
				}
				o.fail("limits", "has %d limits on %s; a request may meet %d", n, name, engine.MaxClaims)
				return
			}
		}
	}
}
