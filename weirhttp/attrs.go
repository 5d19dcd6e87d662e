package weirhttp

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"

	"github.com/weir-go/weir/policy"
)

// attrs presents an HTTP request to a Binder. Whatever costs something is
// worked out when it is asked for, and once.
type attrs struct {
	c      *config
	r      *http.Request
	route  string
	routed bool
	query  url.Values
}

// Route returns the pattern that matched or is going to.
func (a *attrs) Route() string {
	if !a.routed {
		a.route, a.routed = a.c.route(a.r), true
	}
	return a.route
}

// Method returns the method in upper case, and GET for HEAD: a HEAD costs what
// its GET would, and must not be a way around a limit.
func (a *attrs) Method() string {
	if a.r.Method == http.MethodHead {
		return http.MethodGet
	}
	return strings.ToUpper(a.r.Method)
}

// Header returns the first value of a header field.
func (a *attrs) Header(name string) string {
	if strings.EqualFold(name, "Host") {
		return a.r.Host // net/http takes it out of the header
	}
	return a.r.Header.Get(name)
}

// Query returns the first value of a query parameter.
func (a *attrs) Query(name string) string {
	if a.r.URL.RawQuery == "" {
		return ""
	}
	if a.query == nil {
		a.query = a.r.URL.Query()
	}
	return a.query.Get(name)
}

// Path returns the path of the request, unescaped and not cleaned.
func (a *attrs) Path() string { return a.r.URL.Path }

// PathValue returns the path's value for a wildcard of the route. Outside the
// mux the request does not carry it yet, so it is read by the pattern.
func (a *attrs) PathValue(name string) string {
	if v := a.r.PathValue(name); v != "" || a.r.Pattern != "" {
		return v
	}
	return wildcard(a.Route(), a.r.URL.EscapedPath(), name)
}

// Peer returns the client's address.
func (a *attrs) Peer() netip.Addr { return a.c.addr(a.r) }

// DirectPeer returns the address of the connection's other end, whatever
// headers say.
func (a *attrs) DirectPeer() netip.Addr { return remoteAddr(a.r) }

// Identity returns the authenticated identity.
func (a *attrs) Identity() string { return a.c.identity(a.r) }

// RequestOf returns the request behind the Attrs that a Binder or an extractor
// is given, for what only the request itself or its context knows; nil when
// they come from another transport. It must not be kept, and its body must not
// be read: the handler needs it.
func RequestOf(a policy.Attrs) *http.Request {
	if a, ok := a.(*attrs); ok {
		return a.r
	}
	return nil
}

// wildcard returns what the named wildcard of a ServeMux pattern stands for in
// an escaped path that the pattern matches; "" when there is no such wildcard.
func wildcard(pattern, path, name string) string {
	i := strings.IndexByte(pattern, '/')
	if i < 0 {
		return ""
	}
	pattern = pattern[i+1:] // behind the method and the host
	path = strings.TrimPrefix(path, "/")
	for pattern != "" {
		var p, s string
		p, pattern, _ = strings.Cut(pattern, "/")
		if rest, ok := strings.CutSuffix(p, "...}"); ok {
			if rest == "{"+name {
				return unescape(path)
			}
			return ""
		}
		s, path, _ = strings.Cut(path, "/")
		if p == "{"+name+"}" {
			return unescape(s)
		}
	}
	return ""
}

func unescape(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

// attrsPool keeps the Attrs of requests that have been decided: a Binder gets
// them through an interface, which would put every one on the heap.
var attrsPool = sync.Pool{New: func() any { return new(attrs) }}
