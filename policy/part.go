package policy

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/weir-go/weir/key"
)

// source is where a value of a request comes from.
type source uint8

const (
	fromNowhere source = iota
	fromAddress
	fromRoute
	fromMethod
	fromHeader
	fromQuery
	fromPath
	fromFingerprint
	fromIdentity
	fromAPIKey
	fromExtractor
)

// sources by their name in the file, and what they need behind it.
var sources = map[string]struct {
	from source
	arg  string // "" for none
}{
	"address":     {fromAddress, ""},
	"route":       {fromRoute, ""},
	"method":      {fromMethod, ""},
	"identity":    {fromIdentity, ""},
	"header":      {fromHeader, "a header's name"},
	"query":       {fromQuery, "a query parameter's name"},
	"path":        {fromPath, "a wildcard of the route"},
	"fingerprint": {fromFingerprint, "a header's name"},
	"api_key":     {fromAPIKey, "a header's name"},
	"extract":     {fromExtractor, "the name of a registered extractor"},
}

const partHelp = "write address, route, method, identity, header NAME, query NAME, path NAME, api_key HEADER, fingerprint HEADER or extract NAME"

// part is one value of a request: a source, its argument and what is done to
// the value.
type part struct {
	from     source
	arg      string
	text     string // as written
	extract  func(Attrs) string
	bits4    int // fromAddress
	bits6    int
	fold     bool // case, blanks and Unicode forms make no difference
	bearer   bool // without the scheme of an Authorization header
	position *node
}

// maxValue is the length up to which a value identifies anyone. A longer one
// counts as missing, so that what a client sends bounds neither work nor memory.
const maxValue = 4096

// part reads "header X-Tenant | fold".
func (r *reader) part(n *node, path string, x *extractors) (part, bool) {
	p := part{text: n.text, position: n}
	words := strings.Split(n.text, "|")
	for _, w := range words[1:] {
		switch strings.TrimSpace(w) {
		case "fold":
			p.fold = true
		case "bearer":
			p.bearer = true
		default:
			r.fail(n, path, "has no normaliser %q; there are fold and bearer", strings.TrimSpace(w))
			return p, false
		}
	}
	expr := strings.Fields(words[0])
	if len(expr) == 0 {
		r.fail(n, path, "names no part of a request; %s", partHelp)
		return p, false
	}
	name, prefix, hasPrefix := strings.Cut(expr[0], "/")
	s, ok := sources[name]
	if !ok || hasPrefix && s.from != fromAddress {
		r.fail(n, path, "is no part of a request; %s", partHelp)
		return p, false
	}
	p.from = s.from
	switch {
	case s.arg == "" && len(expr) > 1:
		r.fail(n, path, "has something behind %s, which takes nothing", name)
		return p, false
	case s.arg != "" && len(expr) != 2:
		r.fail(n, path, "needs one thing behind %s: %s", name, s.arg)
		return p, false
	case s.arg != "":
		p.arg = expr[1]
	}
	if (p.fold || p.bearer) && (p.from == fromAddress || p.from == fromRoute || p.from == fromMethod) {
		r.fail(n, path, "takes no normaliser: %s is normal already", name)
		return p, false
	}
	switch p.from {
	case fromAddress:
		p.bits4, p.bits6, ok = prefixLengths(prefix, hasPrefix)
		if !ok {
			r.fail(n, path, "has no such prefix lengths; write address/24/56: the bits of IPv4, 8 to 32, and of IPv6, 16 to 128")
			return p, false
		}
	case fromHeader, fromFingerprint, fromAPIKey:
		if !isHeader(p.arg) {
			r.fail(n, path, "has %q behind %s, which can't be a header's name", p.arg, name)
			return p, false
		}
		p.arg = http.CanonicalHeaderKey(p.arg)
	case fromExtractor:
		if p.extract, ok = x.value(p.arg); !ok {
			r.fail(n, path, "names no registered extractor; %s", x.names())
			return p, false
		}
	}
	return p, true
}

// isHeader reports whether a request can have a header of that name: a token of
// RFC 9110. One that it can't have would be missing from every request.
func isHeader(name string) bool {
	for _, c := range []byte(name) {
		alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alphanumeric && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return name != ""
}

func prefixLengths(s string, given bool) (bits4, bits6 int, ok bool) {
	if !given {
		return key.PrefixV4, key.PrefixV6, true
	}
	v4, v6, ok := strings.Cut(s, "/")
	bits4, err4 := strconv.Atoi(v4)
	bits6, err6 := strconv.Atoi(v6)
	return bits4, bits6, ok && err4 == nil && err6 == nil && bits4 >= 8 && bits4 <= 32 && bits6 >= 16 && bits6 <= 128
}

// same reports whether two parts are the same value of a request.
func (p *part) same(o *part) bool { return p.from == o.from && p.arg == o.arg }

// free reports whether a client can choose the value at will.
func (p *part) free() bool {
	switch p.from {
	case fromHeader, fromQuery, fromPath, fromFingerprint, fromExtractor:
		return true
	}
	return false
}

// value returns the value as a key has it. ok is false when it is missing: not
// there, empty or longer than any identity; and when an extractor panicked, with
// what it panicked with. Addresses are no text and are not for value.
func (p *part) value(a Attrs) (v string, ok bool, fault any) {
	switch p.from {
	case fromRoute:
		return a.Route(), true, nil // no route is a route, too: what no pattern matched
	case fromMethod:
		return methodName(a.Method()), true, nil
	case fromHeader, fromFingerprint:
		v = a.Header(p.arg)
	case fromQuery:
		v = a.Query(p.arg)
	case fromPath:
		v = a.PathValue(p.arg)
	case fromIdentity:
		v = a.Identity()
	case fromAPIKey:
		// A verified identity is worth more than what a header says: whoever has
		// one can't rotate the header for a fresh budget.
		if v = a.Identity(); v == "" {
			v = a.Header(p.arg)
		}
	case fromExtractor:
		if v, fault = call(p.extract, a); fault != nil {
			return "", false, fault
		}
	}
	if p.bearer {
		v = bearer(v)
	}
	if v == "" || len(v) > maxValue {
		return "", false, nil
	}
	if p.fold {
		v = key.Fold(v)
	}
	return v, v != "", nil
}

// call calls the service's own code, whose panic is not the caller's.
func call[T any](f func(Attrs) T, a Attrs) (v T, fault any) {
	defer func() {
		fault = recover()
	}()
	return f(a), nil
}

// bearer is the credential of an Authorization header: "Bearer abc" is "abc".
func bearer(v string) string {
	const scheme = "bearer "
	if len(v) > len(scheme) && strings.EqualFold(v[:len(scheme)], scheme) {
		return strings.TrimLeft(v[len(scheme):], " ")
	}
	return v
}
