package policy_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

func TestClientsInOneNetworkShareItsBudget(t *testing.T) {
	s := serve(t, "limits: {x: {key: address, rate: 3/h}}")
	passed := 0
	for i := range 1000 {
		passed += s.admitted(1, from(fmt.Sprintf("2001:db8:1:2::%x", i+1)))
	}
	require.Equal(t, 3, passed)
	require.Equal(t, 1, s.admitted(1, from("2001:db8:1:3::1")))
	require.Equal(t, 3, s.admitted(9, from("1.2.3.4"))+s.admitted(9, from("::ffff:1.2.3.4")))
	require.Equal(t, 3, s.admitted(9, from("1.2.3.5")), "an IPv4 client is one address")
}

func TestPrefixLengthsAreThePolicysChoice(t *testing.T) {
	s := serve(t, "limits: {x: {key: address/24/48, rate: 1/h}}")
	require.Equal(t, 1, s.admitted(1, from("1.2.3.4"))+s.admitted(1, from("1.2.3.200")))
	require.Equal(t, 1, s.admitted(1, from("2001:db8:1:2::1"))+s.admitted(1, from("2001:db8:1:3::1")))
}

func TestPartsOfAKeyAreNotJoinedByText(t *testing.T) {
	s := serve(t, "limits: {x: {key: [identity, header Tenant], rate: 1/h}}")
	for _, p := range [][2]string{{"did:key:abc", "s"}, {"did:key", "abc:s"}, {"aa", "b"}, {"a", "ab"}, {"a|b", "c"}, {"a", "b|c"}, {"a\x00", "b"}, {"a", "\x00b"}} {
		a := by(p[0])
		a.header = header("Tenant", p[1])
		require.Equal(t, 1, s.admitted(3, a), "%q", p)
	}
}

func TestSpellingsOfOneAccountShareItsBudget(t *testing.T) {
	s := serve(t, "limits: {x: {key: query name | fold, rate: 2/h}}")
	passed := 0
	for _, name := range []string{"victim@x.org", "ViCtIm@X.org", " victim@x.org ", "victim@x.org\x00", "victim@x.org"} {
		a := from("192.0.2.1")
		a.query = header("name", name)
		passed += s.admitted(1, a)
	}
	require.Equal(t, 2, passed)
}

func TestHeadAndInventedMethodsAreNoWayAroundALimit(t *testing.T) {
	s := serve(t, "limits: {x: {key: [address, method], rate: 1/h}, get: {key: all, methods: GET, kind: block}}")
	require.Equal(t, []string{"x", "get"}, s.limits(&attrs{method: "HEAD", peer: netip.MustParseAddr("192.0.2.1")}))
	get, head := from("192.0.2.1"), from("192.0.2.1")
	head.method = "HEAD"
	require.Equal(t, s.bind(get).Claims, s.bind(head).Claims)
	passed := 0
	for i := range 100 {
		a := from("192.0.2.1")
		a.method = fmt.Sprintf("X%d", i)
		passed += s.admitted(1, a)
	}
	require.Equal(t, 1, passed)
}

// A request without its key never shares a bucket with the others without one,
// unless the policy says which.
func TestMissingPartFollowsThePolicy(t *testing.T) {
	ask := func(text string) (s *service, passed [3]int) {
		s = serve(t, text)
		passed[0] = s.admitted(3, from("192.0.2.1"))
		passed[1] = s.admitted(3, from("192.0.2.2"))
		passed[2] = s.admitted(3, &attrs{method: "GET"}) // not even an address
		return s, passed
	}
	t.Run("by default the address is the key", func(t *testing.T) {
		s, passed := ask("limits: {x: {key: header X-Api-Key, rate: 2/h}}")
		require.Equal(t, [3]int{2, 2, 3}, passed)
		require.Equal(t, uint64(9), s.bound.Stats().Missing["x"])
	})
	t.Run("another part", func(t *testing.T) {
		_, passed := ask("limits: {x: {key: header X-Api-Key, rate: 2/h, missing: route}}")
		require.Equal(t, [3]int{2, 0, 3}, passed, "the route is shared because the policy says so")
	})
	t.Run("skip", func(t *testing.T) {
		s, passed := ask("limits: {x: {key: header X-Api-Key, rate: 2/h, missing: skip}}")
		require.Equal(t, [3]int{3, 3, 3}, passed)
		require.Empty(t, s.limits(from("192.0.2.1")))
	})
	t.Run("refuse", func(t *testing.T) {
		s, passed := ask("limits: {x: {key: header X-Api-Key, rate: 2/h, missing: refuse}}")
		require.Equal(t, [3]int{0, 0, 0}, passed)
		d := s.ask(from("192.0.2.1"))
		require.Equal(t, "x.missing", s.engine.LimitName(d.Limit))
		require.Equal(t, engine.Limited, d.Reason)
		require.Negative(t, d.RetryAfter, "waiting does not help")
	})
	t.Run("nothing left to fall back on, and fails closed", func(t *testing.T) {
		_, passed := ask("limits: {x: {key: header X-Api-Key, rate: 2/h, fail: closed}}")
		require.Equal(t, [3]int{2, 2, 0}, passed)
	})
	t.Run("fails closed, and skips what lacks its key", func(t *testing.T) {
		_, passed := ask("limits: {x: {key: header X-Api-Key, rate: 2/h, fail: closed, missing: skip}}")
		require.Equal(t, [3]int{3, 3, 3}, passed)
	})
	t.Run("no address, where the address is the key", func(t *testing.T) {
		_, passed := ask("limits: {x: {key: address, rate: 2/h}}")
		require.Equal(t, [3]int{2, 2, 3}, passed, "nobody shares a bucket of the nameless")
		_, passed = ask("limits: {x: {key: [address, route], rate: 2/h, missing: refuse}}")
		require.Equal(t, [3]int{2, 2, 0}, passed)
	})
	t.Run("refuse in shadow", func(t *testing.T) {
		_, passed := ask("limits: {x: {key: header X-Api-Key, rate: 2/h, missing: refuse, mode: shadow}}")
		require.Equal(t, [3]int{3, 3, 3}, passed)
	})
}

// The bucket of a client that is known by its address only can't be reached by
// sending the bytes of that address as an API key.
func TestNobodyCanSendTheKeyOfSomebodysFallback(t *testing.T) {
	s := serve(t, "limits: {x: {key: header X-Api-Key, rate: 1/h}}")
	victim := from("192.0.2.7")
	attacker := from("192.0.2.8")
	attacker.header = header("X-Api-Key", string([]byte{4, 192, 0, 2, 7}))
	require.Equal(t, 1, s.admitted(3, attacker))
	require.Equal(t, 1, s.admitted(3, victim))
}

// A header that nobody verified does not replace an identity that somebody did.
func TestRotatingAnAPIKeyBuysNothingWithAVerifiedIdentity(t *testing.T) {
	s := serve(t, "limits: {x: {key: api_key X-Api-Key, rate: 3/s}}")
	passed := 0
	for i := range 30 {
		a := by("alice")
		a.header = header("X-Api-Key", fmt.Sprint("rotated", i))
		passed += s.admitted(1, a)
	}
	require.Equal(t, 3, passed)
	anonymous := from("192.0.2.1")
	anonymous.header = header("X-Api-Key", "k")
	require.Equal(t, 3, s.admitted(9, anonymous), "without an identity the key is the key")
}

func TestCredentialsAreReadWithoutTheirScheme(t *testing.T) {
	s := serve(t, "limits: {x: {key: header Authorization | bearer, rate: 1/h}}")
	passed := 0
	for _, v := range []string{"Bearer abc", "bearer abc", "BEARER   abc", "abc"} {
		a := from("192.0.2.1")
		a.header = header("Authorization", v)
		passed += s.admitted(1, a)
	}
	require.Equal(t, 1, passed)
}

// Key material longer than any identity is no identity: what a client sends
// bounds neither memory nor work.
func TestOversizedKeyCountsAsMissing(t *testing.T) {
	s := serve(t, "limits: {x: {key: header K | fold, rate: 1/h}}")
	passed := 0
	for i := range 10 {
		a := from("192.0.2.1")
		a.header = header("K", strings.Repeat("k", 1<<20)+fmt.Sprint(i))
		passed += s.admitted(1, a)
	}
	require.Equal(t, 1, passed, "all fall back on the address")
	huge := from("192.0.2.1")
	huge.header = header("K", strings.Repeat("\u00c9", 1<<19))
	var room [engine.MaxClaims]engine.Claim
	require.Zero(t, testing.AllocsPerRun(10, func() { sink = s.bound.Bind(huge, room[:0]) }), "it is not even folded")
	require.Equal(t, uint64(10+11), s.bound.Stats().Missing["x"])
	a, b := from("192.0.2.1"), from("192.0.2.1")
	a.header, b.header = header("K", strings.Repeat("k", 4000)+"a"), header("K", strings.Repeat("k", 4000)+"b")
	require.Equal(t, 2, s.admitted(1, a)+s.admitted(1, b), "up to the bound every byte counts")
}

// A thousand raw paths or unknown routes do not grow what is kept of routes,
// and never separate one client's budget.
func TestKeyByRouteIsThePattern(t *testing.T) {
	s := serve(t, "limits: {x: {key: [address, route], rate: 1/h}}")
	a, b, none := from("192.0.2.1"), from("192.0.2.1"), from("192.0.2.1")
	a.route, b.route, none.route = "GET /a/{id}", "GET /b/{id}", ""
	require.Equal(t, 3, s.admitted(2, a)+s.admitted(2, b)+s.admitted(2, none))
	for i := range 10000 {
		r := from("192.0.2.1")
		r.route = fmt.Sprint("/raw/", i)
		s.bind(r)
	}
	require.LessOrEqual(t, len(s.bound.Stats().Unclassified), 4097)
	require.LessOrEqual(t, s.bound.RoutesKept(), 4097)
}

func TestExtractorsGiveWhatOnlyCodeFinds(t *testing.T) {
	type mail interface{ Mail() string }
	s := serve(t, "limits: {x: {key: extract email | fold, rate: 1/h}}",
		policy.Extract("email", func(a policy.Attrs) string { return a.(mail).Mail() }))
	require.Equal(t, 1, s.admitted(1, mailAttrs{from("192.0.2.1"), "A@x.org"})+s.admitted(1, mailAttrs{from("192.0.2.9"), "a@x.org"}))
}

type mailAttrs struct {
	*attrs
	mail string
}

func (m mailAttrs) Mail() string { return m.mail }

func TestBindingAllocatesNothing(t *testing.T) {
	s := serve(t, `
classes:
  - {class: test, credential: api_key X-Api-Key, prefix: [test_]}
  - {class: read, methods: GET}
limits:
  a: {key: [address, route, method], rate: 1/h}
  b: {key: [identity, header Tenant | fold], rate: 1/h}
  c: {key: api_key X-Api-Key, kind: in_flight, max: 5}
  d: {key: header Absent, rate: 1/h}
  e: {key: identity, plan: header Plan, plans: {free: 1/s, pro: 5/s}, default_plan: free, overrides: {o: {keys: bob, mode: shadow}}}
  f: {key: all, rate: 1/h, cost: {from: header Cost, max: 5}}
`)
	a := from("2001:db8::1")
	a.identity, a.route = "bob", "GET /x"
	a.header = map[string]string{"Tenant": "acme", "X-Api-Key": "live_1", "Plan": "pro", "Cost": "3"}
	require.Equal(t, []string{"a", "b", "c", "d", "e.pro.o", "f"}, s.limits(a))
	var room [engine.MaxClaims]engine.Claim
	require.Zero(t, testing.AllocsPerRun(100, func() { sink = s.bound.Bind(a, room[:0]) }))
	b := from("192.0.2.1")
	b.route = "GET /x"
	require.Zero(t, testing.AllocsPerRun(100, func() { sink = s.bound.Bind(b, room[:0]) }))
}

var sink engine.Request

func TestCohortIsWhoIsAskingEvenWithoutAKey(t *testing.T) {
	s := serve(t, "limits: {everybody: {key: all, rate: 1000/s}}")
	require.NotEqual(t, s.bind(by("a")).Cohort, s.bind(by("b")).Cohort)
	require.NotEqual(t, s.bind(from("192.0.2.1")).Cohort, s.bind(from("192.0.2.2")).Cohort)
	require.Equal(t, s.bind(from("192.0.2.1")).Cohort, s.bind(from("192.0.2.1")).Cohort)
	require.NotZero(t, s.bind(by("a")).Cohort)
}
