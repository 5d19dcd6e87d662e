package fuzz

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/key"
)

// FuzzForwardedFor reads anything as X-Forwarded-For lines: the client is the
// peer or an entry of the lines, what stands left of the first untrusted entry
// changes nothing, and the walk agrees with a plain one over all entries.
func FuzzForwardedFor(f *testing.F) {
	trusted, err := key.ParseNetworks("10.0.0.0/8", "::1", "2001:db8:ffff::/48")
	require.NoError(f, err)
	f.Add([]byte("10.0.0.1\n6.6.6.6\n1.1.1.1, 10.0.0.2"))
	f.Add([]byte("10.0.0.1\n1.1.1.1, junk, [2001:db8:ffff::1]:443"))
	f.Add([]byte("::1\n,,::ffff:10.0.0.1%eth0 ,\t64:ff9b::102:304"))
	f.Add([]byte("9.9.9.9\n1.1.1.1"))
	f.Fuzz(func(t *testing.T, tape []byte) {
		lines := strings.Split(string(tape), "\n")
		peer, _ := netip.ParseAddr(lines[0])
		lines = lines[1:]
		got := trusted.Client(peer, lines)
		require.Equal(t, plainWalk(trusted, peer, lines), got)
		require.Equal(t, got, key.Canonical(got))
		if got.IsValid() && !trusted.Contains(got) {
			require.Equal(t, got, trusted.Client(peer, append([]string{"6.6.6.6, 10.0.0.9"}, lines...)), "who is further left changes nothing")
		}
		b := key.AppendPrefix(nil, got, 32, 64)
		require.Contains(t, []int{0, 5, 17}, len(b))
		require.Equal(t, got.IsValid(), len(b) > 0)
	})
}

// plainWalk is the rule of [key.Networks.Client] in its plainest form.
func plainWalk(trusted key.Networks, peer netip.Addr, lines []string) netip.Addr {
	client := key.Canonical(peer)
	entries := strings.Split(strings.Join(lines, ","), ",")
	if len(lines) == 0 {
		entries = nil
	}
	for i := len(entries) - 1; i >= 0 && i >= len(entries)-32; i-- {
		if !trusted.Contains(client) {
			break
		}
		entry := strings.Trim(entries[i], " \t")
		if entry == "" {
			continue
		}
		a, ok := key.ParseAddr(entry)
		if !ok {
			break
		}
		client = a
	}
	return client
}

// FuzzFold folds anything: folding twice changes nothing, and neither case nor
// blanks nor a NUL at the end make a difference.
func FuzzFold(f *testing.F) {
	f.Add([]byte("Ren\u00e9@X.org "))
	f.Add([]byte("rene\u0301\x00\xff"))
	f.Fuzz(func(t *testing.T, name []byte) {
		s := string(name)
		once := key.Fold(s)
		require.Equal(t, once, key.Fold(once))
		require.Equal(t, once, key.Fold(" "+s+"\x00 "))
	})
}
