package target

import (
	"net/netip"
	"net/url"
	"strings"
)

// Attrs presents a Request to a policy.Binder. The route is the path without
// its query; the user is the identity, and the peer when it is an address.
type Attrs struct{ R *Request }

// Route implements policy.Attrs.
func (a Attrs) Route() string {
	path, _, _ := strings.Cut(a.R.Path, "?")
	return path
}

// Method implements policy.Attrs.
func (a Attrs) Method() string { return a.R.Method }

// Header implements policy.Attrs: a request of a load has a bearer token at
// most.
func (a Attrs) Header(name string) string {
	if a.R.Token != "" && strings.EqualFold(name, "Authorization") {
		return "Bearer " + a.R.Token
	}
	return ""
}

// Query implements policy.Attrs.
func (a Attrs) Query(name string) string {
	_, query, ok := strings.Cut(a.R.Path, "?")
	if !ok {
		return ""
	}
	v, _ := url.ParseQuery(query) // what cannot be read is missing
	return v.Get(name)
}

// PathValue implements policy.Attrs: there is no pattern to take it from.
func (Attrs) PathValue(string) string { return "" }

// Peer implements policy.Attrs.
func (a Attrs) Peer() netip.Addr {
	addr, _ := netip.ParseAddr(a.R.User)
	return addr
}

// Identity implements policy.Attrs.
func (a Attrs) Identity() string { return a.R.User }
