package policy_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

const classPolicy = `
default_class: write
class_header: {name: X-Class, from: [10.0.0.0/8]}
exempt: [/healthz, GET /readyz]
classes:
  - {class: test, credential: header Authorization | bearer, prefix: [sk_test_, rk_test_]}
  - {class: critical, routes: ["POST /v1/charges", "/v1/refunds/"]}
  - {class: read, routes: [/v1/], methods: [GET]}
limits:
  api: {routes: [/v1/], key: address, rate: 3/min}
  running: {routes: [/v1/], kind: in_flight, key: address, max: 1}
`

func request(method, route string) *attrs {
	a := from("192.0.2.1")
	a.method, a.route = method, route
	return a
}

func TestFirstRuleThatMatchesGivesTheClass(t *testing.T) {
	s := serve(t, classPolicy)
	testing := request("POST", "POST /v1/charges")
	testing.header = header("Authorization", "Bearer sk_test_1")
	live := request("POST", "POST /v1/charges")
	live.header = header("Authorization", "Bearer sk_live_1")
	for want, list := range map[engine.Class][]*attrs{
		engine.Test:       {testing},
		engine.Critical:   {live, request("POST", "POST /v1/charges"), request("GET", "/v1/refunds/{id}"), request("DELETE", "/v1/refunds/")},
		engine.Read:       {request("GET", "GET /v1/charges"), request("HEAD", "/v1/{rest...}"), request("GET", "/v1/charges")},
		engine.ClassUnset: {request("POST", "/v1/other"), request("GET", "/v2/"), request("GET", ""), request("BREW", "/v1/x")},
	} {
		for _, a := range list {
			require.Equal(t, want, s.bind(a).Class, "%s %s", a.method, a.route)
		}
	}
}

// A classification goes stale when routes are added; the counter says which.
func TestUnclassifiedRoutesAreCountedAndServedAsTheDefault(t *testing.T) {
	s := serve(t, classPolicy)
	s.admitted(2, request("POST", "/v1/new"))
	s.admitted(1, request("GET", "/v3/newer"))
	s.admitted(5, request("GET", "/v1/charges"))
	require.Equal(t, map[string]uint64{"/v1/new": 2, "/v3/newer": 1}, s.bound.Stats().Unclassified)
	snap := s.engine.Snapshot()
	require.Equal(t, uint64(3), snap.Unclassified)
	require.Equal(t, uint64(3), snap.Admitted[engine.Write], "what the policy says unclassified requests are")
}

// The client can't promote itself: a class header counts from a trusted peer
// only, by the other end of the connection, and within the closed set.
func TestClassHeaderIsForTrustedPeersOnly(t *testing.T) {
	s := serve(t, classPolicy)
	ask := func(direct, value string) engine.Class {
		a := request("GET", "GET /v1/charges")
		a.peer = netip.MustParseAddr("10.0.0.1") // what a header claims
		a.header = header("X-Class", value)
		if direct != "" {
			a.direct = netip.MustParseAddr(direct)
		}
		return s.bind(a).Class
	}
	require.Equal(t, engine.Critical, ask("10.1.2.3", "critical"))
	require.Equal(t, engine.Critical, ask("::ffff:10.1.2.3", "critical"))
	require.Equal(t, engine.Test, ask("10.1.2.3", "test"))
	for _, direct := range []string{"9.9.9.9", "2001:db8::1", ""} {
		require.Equal(t, engine.Read, ask(direct, "critical"), direct)
	}
	for _, value := range []string{"", "100000", "4", "CRITICAL", "unset", "critical ", "unknown"} {
		require.Equal(t, engine.Read, ask("10.1.2.3", value), "%q", value)
	}
	type blind struct{ engineAttrs }
	a := request("GET", "GET /v1/charges")
	a.direct, a.header = netip.MustParseAddr("10.1.2.3"), header("X-Class", "critical")
	require.Equal(t, engine.Read, s.bind(blind{a}).Class, "a transport that does not know the peer vouches for nobody")
}

// engineAttrs hides everything of a request but the fixed interface.
type engineAttrs interface {
	Route() string
	Method() string
	Header(string) string
	Query(string) string
	PathValue(string) string
	Peer() netip.Addr
	Identity() string
}

func TestExemptRoutesMeetNoLayer(t *testing.T) {
	s := serve(t, classPolicy+"  everything: {key: all, kind: block}\n")
	for _, a := range []*attrs{request("GET", "/healthz"), request("POST", "/healthz"), request("HEAD", "GET /readyz")} {
		require.True(t, s.bound.Exempt(a), a.route)
		require.Empty(t, s.bind(a).Claims)
		require.Equal(t, engine.Critical, s.bind(a).Class, "for a transport that does not ask")
	}
	preflight := request("OPTIONS", "/v1/charges")
	preflight.header = map[string]string{"Origin": "https://shop.example", "Access-Control-Request-Method": "POST"}
	require.True(t, s.bound.Exempt(preflight))
	for _, a := range []*attrs{request("POST", "/readyz"), request("GET", "/healthz/"), request("GET", "/{x}"), request("GET", "/"), request("GET", ""), request("OPTIONS", "/v1/charges")} {
		require.False(t, s.bound.Exempt(a), a.route)
		require.NotEmpty(t, s.bind(a).Claims)
	}
}

// In front of a gateway one route stands for every path; a probe is free there,
// too, and nothing that only looks like one.
func TestExemptPathsAreFreeWhereOneRouteStandsForAll(t *testing.T) {
	s := serve(t, "exempt: [/healthz, GET /readyz, '/{$}', admin.example/ping]\nlimits: {everything: {key: all, kind: block}}")
	ask := func(method, path string) bool {
		a := request(method, "/")
		a.target = path
		free := s.bound.Exempt(a)
		require.Equal(t, free, len(s.bind(a).Claims) == 0, path)
		return free
	}
	for _, path := range []string{"/healthz", "/readyz", "/"} {
		require.True(t, ask("GET", path), path)
	}
	require.True(t, ask("POST", "/healthz"))
	require.False(t, ask("POST", "/readyz"))
	for _, path := range []string{"", "/healthz/", "/healthz/../pay", "//healthz", "/HEALTHZ", "/ping", "/pay"} {
		require.False(t, ask("GET", path), path)
	}
}

// What a script meets in test mode is what it will meet in production: the class
// decides who is shed, never what is counted.
func TestTestAndLiveTrafficMeetTheSameLimits(t *testing.T) {
	run := func(credential string) (out []engine.Decision, classes map[engine.Class]bool) {
		s := serve(t, classPolicy)
		classes = map[engine.Class]bool{}
		var room [engine.MaxClaims]engine.Claim
		for i := range 12 {
			a := request([]string{"GET", "POST"}[i%2], "/v1/charges")
			a.header = header("Authorization", "Bearer "+credential)
			req := s.bound.Bind(a, room[:0])
			classes[req.Class] = true
			first := s.engine.Admit(req)
			second := s.engine.Admit(req) // beside the first: layer 2
			out = append(out, first.Decision(), second.Decision())
			first.Done(engine.Success)
			second.Done(engine.Success)
			s.clock.Advance(5 * time.Second)
		}
		return out, classes
	}
	live, liveClasses := run("sk_live_1")
	test, testClasses := run("sk_test_1")
	require.Equal(t, live, test)
	require.Equal(t, map[engine.Class]bool{engine.Test: true}, testClasses)
	require.NotContains(t, liveClasses, engine.Test)
	reasons := map[engine.Reason]bool{}
	for _, d := range live {
		reasons[d.Reason] = true
	}
	require.Equal(t, map[engine.Reason]bool{engine.Admitted: true, engine.Limited: true, engine.Full: true}, reasons, "the test meets both layers")
}

func TestRoutesAreMatchedAsPatterns(t *testing.T) {
	for _, c := range []struct {
		policy, route, method string
		want                  bool
	}{
		{"/", "/anything/{x}", "GET", true},
		{"/", "", "GET", false},
		{"/a/", "/a/", "GET", true},
		{"/a/", "/a/b/{c...}", "GET", true},
		{"/a/", "/a", "GET", false},
		{"/a", "/a/", "GET", false},
		{"/a", "GET /a", "GET", true},
		{"GET /a", "/a", "HEAD", true},
		{"GET /a", "/a", "POST", false},
		{"/a/{id}", "/a/{name}", "GET", true},
		{"/a/{id}", "/a/b", "GET", true},
		{"/a/{id}", "/a/{rest...}", "GET", false},
		{"/a/{id}", "/a/", "GET", false},
		{"/a/b", "/a/{id}", "GET", false},
		{"/a/{$}", "/a/{$}", "GET", true},
		{"/a/{$}", "/a/", "GET", false},
		{"/a/{id}/c", "/a/{id}/c/d", "GET", false},
		{"/a/{rest...}", "/a/{x}/b", "GET", true},
		{"shop.example/a", "shop.example/a", "GET", true},
		{"shop.example/a", "/a", "GET", false},
		{"/a", "shop.example/a", "GET", true},
		{"/pay.v1.Pay/", "/pay.v1.Pay/Charge", "POST", true},
		{"/pay.v1.Pay/", "/pay.v2.Pay/Charge", "POST", false},
	} {
		s := serve(t, "limits: {x: {key: all, rate: 1/s, routes: ['"+c.policy+"']}}")
		require.Equal(t, c.want, len(s.bind(request(c.method, c.route)).Claims) == 1, "%q on %s %q", c.policy, c.method, c.route)
	}
}
