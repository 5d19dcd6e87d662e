package key

import (
	"fmt"
	"net/netip"
	"strings"
)

// The prefix lengths that stand for one client unless a policy says otherwise.
// An IPv6 client owns its /64 and can take a fresh address from it at will.
const (
	PrefixV4 = 32
	PrefixV6 = 64
)

// nat64 is the well-known prefix of RFC 6052: the low 32 bits are an IPv4
// address.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// Canonical returns the address as limits see it, judged by its bits and never
// by its spelling: IPv4-mapped and NAT64 addresses are the IPv4 address they
// carry, and a zone is dropped.
func Canonical(a netip.Addr) netip.Addr {
	a = a.WithZone("").Unmap()
	if a.Is6() && nat64.Contains(a) {
		b := a.As16()
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return a
}

// ParseAddr reads an address as proxies and servers write it, alone or with a
// port: "192.0.2.1", "192.0.2.1:443", "2001:db8::1", "[2001:db8::1]",
// "[2001:db8::1]:443", each with or without a zone. The result is canonical; ok
// is false for anything else.
func ParseAddr(s string) (addr netip.Addr, ok bool) {
	if strings.HasPrefix(s, "[") {
		host, port, found := strings.Cut(s[1:], "]")
		if !found || port != "" && !isPort(port) {
			return netip.Addr{}, false
		}
		s = host
		if !strings.Contains(s, ":") {
			return netip.Addr{}, false // brackets are for IPv6
		}
	} else if i := strings.IndexByte(s, ':'); i >= 0 && strings.IndexByte(s[i+1:], ':') < 0 {
		if !isPort(s[i:]) {
			return netip.Addr{}, false
		}
		s = s[:i]
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}, false
	}
	return Canonical(a), true
}

// isPort reports whether s is a colon and one to five digits.
func isPort(s string) bool {
	if len(s) < 2 || len(s) > 6 || s[0] != ':' {
		return false
	}
	for _, c := range []byte(s[1:]) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// AppendPrefix appends the identity of the address's network: its family and
// the leading bits4 or bits6 bits, in 5 or 17 bytes that are no text. The
// address is made canonical first. The zero Addr appends nothing: a missing
// address is not an identity. Lengths out of range are cut to the family's.
func AppendPrefix(dst []byte, a netip.Addr, bits4, bits6 int) []byte {
	if !a.IsValid() {
		return dst
	}
	a = Canonical(a)
	bits := bits6
	if a.Is4() {
		bits = bits4
	}
	// Prefix fails only for lengths out of range, and those are cut.
	p, err := a.Prefix(max(0, min(bits, a.BitLen())))
	if err != nil {
		return dst
	}
	if a.Is4() {
		b := p.Addr().As4()
		return append(append(dst, 4), b[:]...)
	}
	b := p.Addr().As16()
	return append(append(dst, 6), b[:]...)
}

// Networks is a set of address ranges, such as the proxies in front of a
// service. The zero value is empty. It is read-only and safe for concurrent
// use.
type Networks struct{ list []netip.Prefix }

// ParseNetworks reads addresses and CIDR ranges ("10.0.0.0/8", "::1"). Ranges
// that lie within the IPv4-mapped or NAT64 space are the IPv4 ranges they carry.
// It returns an error for the first entry that is neither.
func ParseNetworks(list ...string) (Networks, error) {
	var n Networks
	for _, s := range list {
		p, err := parseNetwork(s)
		if err != nil {
			return Networks{}, err
		}
		n.list = append(n.list, p)
	}
	return n, nil
}

func parseNetwork(s string) (netip.Prefix, error) {
	if !strings.Contains(s, "/") {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return netip.Prefix{}, fmt.Errorf("key: network %q: neither an address nor a CIDR range", s)
		}
		a = Canonical(a)
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("key: network %q: neither an address nor a CIDR range", s)
	}
	if a := Canonical(p.Addr()); a.Is4() && p.Addr().Is6() {
		if p.Bits() < 96 {
			return netip.Prefix{}, fmt.Errorf("key: network %q: reaches beyond the IPv4 addresses it carries", s)
		}
		p = netip.PrefixFrom(a, p.Bits()-96)
	}
	return p.Masked(), nil
}

// Contains reports whether the address is in the set; the zero Addr is in none.
func (n Networks) Contains(a netip.Addr) bool {
	a = Canonical(a)
	for _, p := range n.list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// maxHops is how many X-Forwarded-For entries are looked at, from the right: no
// chain of trusted proxies is longer, and a header of thousands costs no more.
const maxHops = 32

// Client returns the address of the client behind trusted proxies: n is the
// set of proxies, peer the other end of the connection, and forwarded the
// X-Forwarded-For lines in the order in which they came.
//
// Each proxy appends the address it saw, so the entries are read from the
// right: the first that is no trusted proxy is the client. What a peer that is
// not trusted says counts for nothing. An entry that is no address ends the
// walk, and no more than 32 entries are read; the client is then the last
// trusted hop. If every entry is a trusted proxy, the leftmost is the client.
// Empty entries are passed over.
func (n Networks) Client(peer netip.Addr, forwarded []string) netip.Addr {
	client := Canonical(peer)
	if !n.Contains(client) {
		return client
	}
	hops := 0
	for i := len(forwarded) - 1; i >= 0; i-- {
		for line, more := forwarded[i], true; more; {
			var entry string
			if hops++; hops > maxHops {
				return client
			}
			if c := strings.LastIndexByte(line, ','); c >= 0 {
				line, entry = line[:c], line[c+1:]
			} else {
				entry, more = line, false
			}
			entry = strings.Trim(entry, " \t")
			if entry == "" {
				continue
			}
			a, ok := ParseAddr(entry)
			if !ok {
				return client
			}
			client = a
			if !n.Contains(a) {
				return client
			}
		}
	}
	return client
}
