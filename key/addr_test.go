package key_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/key"
)

func networks(t testing.TB, list ...string) key.Networks {
	t.Helper()
	n, err := key.ParseNetworks(list...)
	require.NoError(t, err)
	return n
}

func prefix(t testing.TB, s string) string {
	t.Helper()
	a, ok := key.ParseAddr(s)
	require.True(t, ok, s)
	return string(key.AppendPrefix(nil, a, key.PrefixV4, key.PrefixV6))
}

func TestOneAddressHasOneIdentityHoweverItIsSpelled(t *testing.T) {
	for _, s := range []string{
		"::ffff:1.2.3.4", "::ffff:102:304", "0:0:0:0:0:ffff:1.2.3.4", "::FFFF:1.2.3.4", // mapped
		"64:ff9b::1.2.3.4", "64:ff9b::102:304", // NAT64
		"1.2.3.4:80", "[::ffff:1.2.3.4]:80", "[::ffff:1.2.3.4]", "::ffff:1.2.3.4%eth0",
	} {
		require.Equal(t, prefix(t, "1.2.3.4"), prefix(t, s), s)
	}
	require.NotEqual(t, prefix(t, "1.2.3.4"), prefix(t, "1.2.3.5"))
}

func TestDottedTailOfIPv6IsNotIPv4(t *testing.T) {
	require.Equal(t, prefix(t, "2001:db8:1:2::"), prefix(t, "2001:db8:1:2::1.2.3.4"))
	require.NotEqual(t, prefix(t, "1.2.3.4"), prefix(t, "2001:db8:1:2::1.2.3.4"))
	require.NotEqual(t, prefix(t, "1.2.3.4"), prefix(t, "::1.2.3.4"), "the old compatible form carries no IPv4 client")
}

func TestIPv6ClientsAreTheirNetwork(t *testing.T) {
	require.Equal(t, prefix(t, "2001:db8:1:2::1"), prefix(t, "2001:DB8:1:2:0:0:0:9"))
	require.NotEqual(t, prefix(t, "2001:db8:1:2::1"), prefix(t, "2001:db8:1:3::1"))
}

func TestZonesAreDropped(t *testing.T) {
	require.Equal(t, prefix(t, "fe80::1"), prefix(t, "fe80::1%eth0.100"))
	require.Equal(t, prefix(t, "fe80::1"), prefix(t, "[fe80::1%eth0]:443"))
}

func TestGarbageIsNoAddress(t *testing.T) {
	for _, s := range []string{
		"", " ", "junk", "1.2.3", "1.2.3.4.5", "1.2.3.4:", "1.2.3.4:x", "1.2.3.4:123456", "[1.2.3.4]", "[::1", "::1]",
		"[::1]x", "[::1]:", "01.2.3.4", "1.2.3.4/8", "unknown", "_hidden", "::1%", "1.2.3.4\x00", "[]", ":", "\xff",
	} {
		_, ok := key.ParseAddr(s)
		require.False(t, ok, "%q", s)
	}
	require.Empty(t, key.AppendPrefix(nil, netip.Addr{}, 32, 64), "a missing address is no identity")
}

func TestPrefixLengthsAreCutToTheFamily(t *testing.T) {
	a := netip.MustParseAddr("10.1.2.3")
	require.Equal(t, key.AppendPrefix(nil, a, 32, 64), key.AppendPrefix(nil, a, 99, 64))
	require.Equal(t, []byte{4, 0, 0, 0, 0}, key.AppendPrefix(nil, a, -1, 64))
	require.Equal(t, []byte{4, 10, 1, 2, 0}, key.AppendPrefix(nil, a, 24, 64))
}

func TestTrustedProxiesAreComparedByBits(t *testing.T) {
	n := networks(t, "::1", "127.0.0.1", "::ffff:10.0.0.0/104", "2001:db8::/32")
	for _, s := range []string{"0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "10.200.0.1", "::ffff:10.0.0.1", "2001:db8:9::1%eth0"} {
		peer := netip.MustParseAddr(s)
		require.True(t, n.Contains(peer), s)
		require.Equal(t, "6.6.6.6", n.Client(peer, []string{"6.6.6.6"}).String(), s)
	}
	for _, s := range []string{"::2", "11.0.0.1", "2001:db9::1"} {
		require.False(t, n.Contains(netip.MustParseAddr(s)), s)
	}
	require.False(t, n.Contains(netip.Addr{}))
	require.False(t, networks(t, "::/0", "0.0.0.0/0").Contains(netip.Addr{}))
}

func TestBadNetworksAreRefused(t *testing.T) {
	for _, s := range []string{"", "junk", "10.0.0.0/33", "10.0.0.0/-1", "10/8", "::ffff:10.0.0.0/95", "fe80::%eth0/64", "10.0.0.0/8/8"} {
		_, err := key.ParseNetworks("10.0.0.0/8", s)
		require.ErrorContains(t, err, `"`+s+`"`)
	}
}

func TestForwardedForIsReadFromTheRight(t *testing.T) {
	n := networks(t, "10.0.0.0/8")
	for name, c := range map[string]struct {
		peer  string
		lines []string
		want  string
	}{
		"the first that is no proxy, over all lines": {"10.0.0.1", []string{"6.6.6.6", "1.1.1.1, 10.0.0.2"}, "1.1.1.1"},
		"a peer that is no proxy is the client":      {"9.9.9.9", []string{"1.1.1.1"}, "9.9.9.9"},
		"junk ends the walk at the peer":             {"10.0.0.1", []string{"1.1.1.1, junk"}, "10.0.0.1"},
		"junk ends the walk at the last proxy":       {"10.0.0.1", []string{"1.1.1.1, junk, 10.0.0.7"}, "10.0.0.7"},
		"all proxies: the leftmost":                  {"10.0.0.1", []string{"10.0.0.4", "10.0.0.3,10.0.0.2"}, "10.0.0.4"},
		"no header":                                  {"10.0.0.1", nil, "10.0.0.1"},
		"empty entries are passed over":              {"10.0.0.1", []string{"1.1.1.1", ",, 10.0.0.2 ,\t"}, "1.1.1.1"},
		"ports and brackets":                         {"10.0.0.1", []string{"[2001:db8::1]:4711"}, "2001:db8::1"},
		"a mapped proxy":                             {"::ffff:10.0.0.1", []string{"1.1.1.1, ::ffff:10.0.0.9"}, "1.1.1.1"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, n.Client(netip.MustParseAddr(c.peer), c.lines).String())
		})
	}
	require.False(t, n.Client(netip.Addr{}, []string{"1.1.1.1"}).IsValid(), "without a peer nobody vouches for the header")
}

func TestRotatingTheLeftmostEntryChangesNothing(t *testing.T) {
	n := networks(t, "10.0.0.0/8")
	for i := range 100 {
		forged := netip.AddrFrom4([4]byte{6, 6, 6, byte(i)}).String()
		require.Equal(t, "1.1.1.1", n.Client(netip.MustParseAddr("10.0.0.1"), []string{forged + ", 1.1.1.1"}).String())
	}
}

// A header of thousands of hops is read no further than a short one.
func TestLongForwardedForIsBounded(t *testing.T) {
	n := networks(t, "10.0.0.0/8")
	peer := netip.MustParseAddr("10.0.0.1")
	long := "1.1.1.1" + strings.Repeat(", 10.0.0.2", 2000)
	require.Equal(t, "10.0.0.2", n.Client(peer, []string{long}).String(), "the walk ends at the last trusted hop it looked at")
	many := make([]string, 2000)
	for i := range many {
		many[i] = ","
	}
	many[0] = "1.1.1.1"
	require.Equal(t, "10.0.0.1", n.Client(peer, many).String())
}

func TestAddressesAllocateNothing(t *testing.T) {
	n := networks(t, "10.0.0.0/8", "::1")
	peer := netip.MustParseAddr("10.0.0.1")
	lines := []string{"6.6.6.6", "2001:db8::1, 10.0.0.2"}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		var buf [17]byte
		sink = len(key.AppendPrefix(buf[:0], n.Client(peer, lines), 32, 64))
	}))
}

var sink int
