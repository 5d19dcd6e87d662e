package key_test

import (
	"fmt"
	"net/netip"

	"github.com/weir-go/weir/key"
)

// Who is asking, behind two proxies of which one is the service's own: what the
// client wrote itself counts for nothing.
func ExampleNetworks_Client() {
	proxies, err := key.ParseNetworks("10.0.0.0/8")
	fmt.Println(err)
	peer := netip.MustParseAddr("10.0.0.7")
	fmt.Println(proxies.Client(peer, []string{"198.51.100.9, 203.0.113.5"}))
	fmt.Println(proxies.Client(netip.MustParseAddr("203.0.113.5"), []string{"198.51.100.9"}))

	_, err = key.ParseNetworks("10.0.0.0/33")
	fmt.Println(err != nil)
	// Output:
	// <nil>
	// 203.0.113.5
	// 203.0.113.5
	// true
}

// One account, however its name is spelled.
func ExampleFold() {
	fmt.Println(key.Fold(" Ada@Example.ORG "), key.Fold("ada@example.org") == key.Fold("ａda@example.org"))
	// Output: ada@example.org true
}

// The parts of a key stay apart, and a secret makes it the same on every
// instance of a fleet.
func ExampleHasher_Key() {
	secret := []byte("the same on every instance")
	a, b := key.NewHasher(secret), key.NewHasher(secret)
	fmt.Println(a.Key("user", "7") == b.Key("user", "7"), a.Key("ab", "c") == a.Key("a", "bc"))
	// Output: true false
}
