package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

func describe(t *testing.T, text string) string {
	t.Helper()
	p, err := policy.Parse("p", []byte(text), policy.CheckOnly())
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, p.Describe(&b))
	return b.String()
}

func TestEveryKindSaysItsWorstCase(t *testing.T) {
	const text = `
limits:
  bucket: {key: all, rate: 10/min, burst: 3}
  odd: {key: all, rate: 7/90s}
  quota: {kind: quota, key: all, rate: 100/day, zone: Europe/Berlin, reset_at: "06:30"}
  slide: {kind: sliding, key: all, rate: 5/h}
  flight: {kind: in_flight, key: all, max: 20}
  block: {kind: block}
  free: {kind: unlimited}
`
	for k := engine.Quota; k <= engine.Unlimited; k++ {
		require.Contains(t, text, "kind: "+k.String())
	}
	out := describe(t, text)
	for _, want := range []string{
		"token bucket: 10 per min, bursts of 3\n      worst case: 13 in any min (a full burst of 3, and the rate)",
		"token bucket: 7 per 90s, bursts of 7\n      worst case: 14 in any 90s",
		"quota: 100 per calendar day in Europe/Berlin, from 06:30\n      worst case: 100 in one day, 200 in as long a time across its end",
		"sliding window: 5 per h\n      worst case: 5 in any h",
		"in flight: 20\n      worst case: 20 at once",
		"blocked\n      worst case: nothing passes",
		"unlimited\n      worst case: no bound",
	} {
		require.Contains(t, out, want)
	}
}

func TestDescriptionSaysWhatIsInForce(t *testing.T) {
	out := describe(t, `
class_header: {name: x-class, from: [10.0.0.0/8]}
exempt: [/healthz]
classes:
  - {class: test, credential: api_key X-Api-Key, prefix: [test_, demo_]}
  - {class: critical, routes: [POST /pay]}
limits:
  a: {routes: [/v1/], methods: [GET, PUT], key: [identity, header T | fold], rate: 1/s, mode: shadow, fail: closed, overflow: closed, missing: refuse}
  b: {key: address/24/48, rate: 9/s, mode: {enabled: 50%, enforced: 10%}, cost: {from: extract c, max: 9, default: 2}}
  c: {key: identity, mode: off, plan: header P, plans: {x: 1/s}, default_plan: x, overrides: {o: {keys: [k, l], mode: shadow, until: 2999-01-02T03:04:05Z}}}
gate: {capacity: 100, reserve: 25%, hard_cap: 150}
ladder: {mode: shadow}
`)
	for _, want := range []string{
		"what X-Class says, from trusted peers only",
		"test      every route, api_key X-Api-Key begins with test_ or demo_",
		"critical  POST /pay",
		"otherwise none: counts as read",
		"exempt from every layer: /healthz",
		"a: on /v1/ with GET, PUT, per identity and header T | fold; without it: refused as a.missing",
		"in shadow: counts what it would refuse and refuses nothing",
		"refuses (503) when weir itself fails; a key without room in the table: refused",
		"b: on every route, per address (IPv4 /24, IPv6 /48)",
		"a request costs what extract c says, 2 without it, at most 9",
		"ramp: looked at for 50% of the keys, enforced for 10% of those",
		"the plan is header P; any other is x",
		"override o: 2 key(s), until 2999-01-02T03:04:05Z",
		"gate: of 100 requests in flight, 75 may be other than critical; enforced",
		"critical ones too are refused above 150",
		"ladder: sheds from test upwards while the workers are saturated; in shadow",
	} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "warning:")
}

func TestWhatLooksLikeAMistakeIsSaid(t *testing.T) {
	for text, want := range map[string]string{
		"limits: {x: {key: header K, rate: 1/s}}":                                                                           "x: every part of its key is the client's word",
		"limits: {x: {key: [header K, route], rate: 1/s}, y: {key: address, rate: 1/s, routes: [/a]}}":                      "x: every part of its key is the client's word",
		"limits: {x: {key: header K, rate: 1/s}, y: {key: query q, rate: 1/s}}":                                             "y: every part of its key is the client's word",
		"limits: {x: {key: address, rate: 5/s, cost: {from: query n, max: 5}}}":                                             "x: the client says what a request costs, and may say 0",
		"limits: {x: {key: address, rate: 5/s, cost: {from: extract n, max: 6}}}":                                           "x: a request that claims more than 5 is refused whenever it comes",
		"limits: {x: {key: address, rate: 5/s, overrides: {o: {keys: 192.0.2.1, mode: off, until: 2001-02-03T04:05:06Z}}}}": "x: the override o has expired",
		"gate: {capacity: 5, reserve: 20%}":                                                                                 "no rule makes a request critical",
		"ladder: {}":                                                                                                        "no rule makes a request critical",
	} {
		require.Contains(t, describe(t, text), "warning: "+want, text)
	}
	for _, text := range []string{
		"limits: {x: {key: header K, rate: 1/s, routes: [POST /a]}, y: {key: address, rate: 1/s, routes: [/]}}",
		"limits: {x: {key: [identity, header K], rate: 1/s}}",
		"ladder: {}\ndefault_class: critical",
		"gate: {capacity: 5}",
	} {
		require.NotContains(t, describe(t, text), "warning:", text)
	}
}

func TestRouteSaysWhatARequestMeets(t *testing.T) {
	p, err := policy.Parse("p", []byte(strings.ReplaceAll(classPolicy, "\n...", "")))
	require.NoError(t, err)
	route := func(method, pattern string) string {
		var b strings.Builder
		require.NoError(t, p.DescribeRoute(&b, method, pattern))
		return b.String()
	}
	out := route("POST", "POST /v1/charges")
	require.Contains(t, out, "class test if every route, header Authorization | bearer begins with sk_test_ or rk_test_\n  class critical\n  api:")
	require.Contains(t, out, "  running:")
	require.Contains(t, route("PATCH", "/v1/other"), "class none: counts as write")
	require.Contains(t, route("GET", "/healthz"), "exempt: no layer touches it")
	require.Contains(t, route("POST", "/readyz"), "no limit")
}
