package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/policy"
)

// faults returns what is wrong with a policy, a line each, without the part that
// is the same everywhere.
func faults(t *testing.T, text string) []string {
	t.Helper()
	_, err := policy.Parse("p", []byte(text), policy.CheckOnly())
	if err == nil {
		return nil
	}
	var all policy.Errors
	require.ErrorAs(t, err, &all)
	var lines []string
	for _, e := range all {
		lines = append(lines, strings.TrimPrefix(e.Error(), "policy: p"))
	}
	return lines
}

// one is a policy with one limit whose fields are given, each on a line from 3.
func one(fields ...string) string {
	return "limits:\n  x:\n    " + strings.Join(fields, "\n    ") + "\n"
}

// Whatever is wrong is refused where it stands; nothing means a default by
// accident.
func TestEveryFaultIsNamedWithItsPlaceAndField(t *testing.T) {
	for text, want := range map[string]string{
		// Not a policy at all.
		"":                                      ": is empty",
		"# nothing\n":                           ": is empty",
		"- a\n":                                 ":1:1: is a list; a policy is a mapping",
		"text\n":                                ":1:1: is a single value; a policy is a mapping",
		"a:\n\tb: 1\n":                          ":2:1: not YAML: found character '\t'",
		"a: [1\n":                               ":1:4: not YAML: sequence end token",
		"a: 1\n---\nb: 1":                       ":3:1: a second document begins here",
		"limits:\n  x: {routes: [GET /a/{id}]}": `must be specified; put a route with braces into quotes, such as ["GET /users/{id}"]`,
		"limits: &x {}":                         ":1:9: limits: is a YAML anchor or alias",
		"limits: !!map {}":                      ":1:9: limits: is a YAML tag",
		"<<: {a: 1}":                            ":1:1: <<: is no plain name",

		"a: " + strings.Repeat("[", 20) + strings.Repeat("]", 20): `is nested more than 16 deep`,
		"a: 1\nb: " + strings.Repeat("[", 1<<16):                  `:2:68: is nested more than 64 deep`,
		"# " + strings.Repeat("x", 1<<17):                         `: is larger than 131072 bytes`,

		// Names.
		one("key: all", "rate: 1/s", "brust: 5"):                  ":5:5: limits.x.brust: is no field; did you mean burst?",
		one("key: all", "rate: 1/s", "reset-at: 1"):               ":5:5: limits.x.reset-at: is no field; did you mean reset_at?",
		one("key: all", "rate: 1/s", "rate: 2/s"):                 ":5:5: limits.x.rate: is there twice, first in line 4",
		"limits:\n  x: {key: all, rate: 1/s}\n  x: {kind: block}": ":3:3: limits.x: is there twice, first in line 2",
		"limits:\n  all: {key: all, rate: 1/s}":                   ":2:3: limits.all: can't be the name of a limit",
		"limits:\n  'a b': {key: all, rate: 1/s}":                 ":2:3: limits.a b: can't be the name of a limit",
		"limts: {}":                          ":1:1: limts: is no field; did you mean limits?",
		"max_age: 1":                         ":1:1: max_age: is no field; there are class_header,",
		"gate: {capacity: 5, reserved: 20%}": ":1:21: gate.reserved: is no field; did you mean reserve?",
		one("key: all", "rate: 1/s", "mode: {enabeld: 5%}"):              ":5:12: limits.x.mode.enabeld: is no field; did you mean enabled?",
		one("key: all", "rate: 1/s", "sync: {mode: share, stale: open}"): ":5:25: limits.x.sync.stale: is no field;",

		// Nothing where something must be.
		"limits:":                                      ":1:1: limits: is empty",
		"limits:\n  x:":                                ":2:3: limits.x: is empty",
		"limits:\n  x: null":                           ":2:3: limits.x: is empty",
		"limits: {x: [a]}":                             ":1:13: limits.x: is a list; it must be a mapping",
		one("key: all"):                                ":3:5: limits.x.rate: is missing; write a whole number and a time",
		one("rate: 1/s"):                               ":3:5: limits.x.key: is missing; write address,",
		one("key: all", "rate:"):                       ":4:5: limits.x.rate: is empty",
		one("key: all", `rate: ""`):                    ":4:11: limits.x.rate: is blank",
		one(`key: ""`, "rate: 1/s"):                    ":3:10: limits.x.key: is blank",
		one("key: []", "rate: 1/s"):                    ":3:10: limits.x.key: is an empty list",
		one("key: [~]", "rate: 1/s"):                   ":3:11: limits.x.key[0]: is empty",
		one("key: {a: b}", "rate: 1/s"):                ":3:10: limits.x.key: is a mapping; it must be a single value",
		one("key: all", "rate: [1/s]"):                 ":4:11: limits.x.rate: is a list; it must be a single value",
		"gate: {reserve: 20%}":                         ":1:7: gate.capacity: is missing",
		"class_header: {name: X-Class}":                ":1:15: class_header.from: is missing",
		"class_header: {from: [10.0.0.1]}":             ":1:15: class_header.name: is missing",
		"classes:\n- {routes: [/a]}":                   ":2:3: classes[0].class: is missing",
		one("kind: in_flight", "key: all"):             ":3:5: limits.x.max: is missing",
		one("key: all", "rate: 1/s", "cost: {max: 5}"): ":5:11: limits.x.cost.from: is missing",

		// Rates.
		one("key: all", "rate: 5x"):                     `:4:11: limits.x.rate "5x": is no rate; write a whole number and a time`,
		one("key: all", "rate: -5s"):                    `:4:11: limits.x.rate "-5s": is no rate`,
		one("key: all", "rate: 60m"):                    `:4:11: limits.x.rate "60m": is no rate`,
		one("key: all", "rate: 60"):                     `:4:11: limits.x.rate "60": is no rate`,
		one("key: all", "rate: 60/m"):                   `:4:11: limits.x.rate "60/m": has no such time; the units are ms, s, min, h, day and month`,
		one("key: all", "rate: 60/"):                    `:4:11: limits.x.rate "60/": has no such time`,
		one("key: all", "rate: 0/s"):                    `:4:11: limits.x.rate "0/s": is zero; to let nothing pass write kind: block, to let everything pass kind: unlimited`,
		one("key: all", "rate: -1/s"):                   `:4:11: limits.x.rate "-1/s": is negative`,
		one("key: all", "rate: 0.5/s"):                  `:4:11: limits.x.rate "0.5/s": is no rate`,
		one("key: all", "rate: 1e-300/s"):               `:4:11: limits.x.rate "1e-300/s": is no rate`,
		one("key: all", "rate: NaN/s"):                  `:4:11: limits.x.rate "NaN/s": is no rate`,
		one("key: all", "rate: .inf"):                   `:4:11: limits.x.rate ".inf": is no rate`,
		one("key: all", "rate: +Inf/s"):                 `:4:11: limits.x.rate "+Inf/s": is no rate`,
		one("key: all", "rate: 1/0s"):                   `:4:11: limits.x.rate "1/0s": is a number per no time at all`,
		one("key: all", "rate: 1/-1s"):                  `:4:11: limits.x.rate "1/-1s": has no such time`,
		one("key: all", "rate: 1/month"):                `:4:11: limits.x.rate "1/month": has months, which only a quota can count`,
		one("key: all", "rate: 1/999999999999day"):      `is a time beyond 292 years`,
		one("key: all", "rate: 99999999999999999999/s"): `is more than fits 64 bits`,
		one("key: all", "rate: 1/s", "burst: 0"):        `:5:12: limits.x.burst "0": must be at least 1: an empty bucket lets nothing pass`,
		one("key: all", "rate: 1/s", "burst: -3"):       `:5:12: limits.x.burst "-3": must be at least 1`,
		one("key: all", "rate: 1/s", "burst: 1_000"):    `:5:12: limits.x.burst "1_000": is not a whole number`,
		one("key: all", "rate: 5/s", "window: day"):     `:4:11: limits.x.rate "5/s": is no rate`,
		one("key: all", "window: day"):                  `:4:13: limits.x.window "day": has no rate beside it`,
		one("key: all", "rate: 5", "window: week"):      `:5:13: limits.x.window "week": has no such time`,
		one("kind: quota", "key: all", "rate: 5/10min"): `:5:11: limits.x.rate "5/10min": is no calendar window`,
		one("kind: quota", "key: all", "rate: 5/s"):     `:5:11: limits.x.rate "5/s": is no calendar window`,

		// Numbers the engine can't count with come back to their line.
		one("key: all", "rate: 1/1000day", "burst: 1000000000000"):                                  `:5:12: limits.x.burst "1000000000000": burst 1000000000000 at rate 1`,
		one("kind: sliding", "key: all", "rate: 512/h"):                                             `:5:11: limits.x.rate "512/h": rate 512: a sliding window counts to 511; use a token bucket for more`,
		one("kind: quota", "key: all", "rate: 5/h", "reset_at: \"06:00\""):                          `:6:15: limits.x.reset_at "06:00": reset at 6h0m0s: means nothing for window hour`,
		one("kind: sliding", "key: all", "rate: 5/h", "sync: share"):                                `:6:11: limits.x.sync "share": sync share: limits of kind sliding stay per instance`,
		one("key: identity", "plan: extract p", "default_plan: a", "plans:", "  a: 99999999999/ms"): `:7:10: limits.x.plans.a.rate "99999999999/ms": `,

		// Fields of another kind, and words.
		one("key: all", "rate: 1/s", "max: 5"):                               `:5:10: limits.x.max "5": does not belong to kind token_bucket; for requests in flight write kind: in_flight`,
		one("key: all", "rate: 1/s", "zone: UTC"):                            `:5:11: limits.x.zone "UTC": does not belong to kind token_bucket; for a calendar day or month write kind: quota`,
		one("kind: block", "rate: 1/s"):                                      `:4:11: limits.x.rate "1/s": does not belong to kind block`,
		one("kind: bucket", "key: all", "rate: 1/s"):                         `:3:11: limits.x.kind "bucket": must be one of token_bucket, quota, sliding, in_flight, block, unlimited`,
		one("key: all", "rate: 1/s", "fail: close"):                          `:5:11: limits.x.fail "close": must be one of open, closed`,
		one("key: all", "rate: 1/s", "overflow: drop"):                       `:5:15: limits.x.overflow "drop": must be one of shared, open, closed`,
		one("key: all", "rate: 1/s", "mode: dark"):                           `:5:11: limits.x.mode "dark": must be one of enforce, shadow, off`,
		one("key: all", "rate: 1/s", "mode: {enabled: 20}"):                  `:5:21: limits.x.mode.enabled "20": is no share; write a percentage, such as 20%`,
		one("key: all", "rate: 1/s", "mode: {enforced: 101%}"):               `:5:22: limits.x.mode.enforced "101%": must be from 0% to 100%`,
		one("key: all", "rate: 1/s", "mode: {enforced: -1%}"):                `:5:22: limits.x.mode.enforced "-1%": is no share`,
		one("key: all", "rate: 1/s", "post_paid: yes"):                       `:5:16: limits.x.post_paid "yes": must be true or false`,
		one("kind: quota", "key: all", "rate: 1/day", "zone: Mars/Base"):     `:6:11: limits.x.zone "Mars/Base": is no IANA time zone`,
		one("kind: quota", "key: all", "rate: 1/day", "zone: Local"):         `:6:11: limits.x.zone "Local": is no IANA time zone`,
		one("kind: quota", "key: all", "rate: 1/day", "reset_at: \"25:00\""): `:6:15: limits.x.reset_at "25:00": is no time of day`,
		one("kind: in_flight", "key: all", "max: 0"):                         `:5:10: limits.x.max "0": must be from 1 to 16777214`,
		one("kind: in_flight", "key: all", "max: 2", "retry_after: -1s"):     `:6:18: limits.x.retry_after "-1s": must be above zero`,
		one("kind: in_flight", "key: all", "max: 2", "retry_after: 60"):      `:6:18: limits.x.retry_after "60": is no time; write a number and a unit`,
		"gate: {capacity: 0}":                                                `:1:18: gate.capacity "0": must be from 1 to`,
		"gate: {capacity: 5, reserve: 0.2}":                                  `:1:30: gate.reserve "0.2": is no share`,
		"ladder: {mode: flap}":                                               `:1:16: ladder.mode "flap": must be one of`,
		"ladder: on":                                                         `:1:9: ladder "on": is a single value; it must be a mapping`,
		"default_class: gold":                                                `:1:16: default_class "gold": must be one of test, read, write, critical`,
		"max_entries: 1e6":                                                   `:1:14: max_entries "1e6": is not a whole number`,
		"max_entries: 0":                                                     `:1:14: max_entries "0": must be from 1 to`,
		"trusted_proxies: [10.0.0.0/33]":                                     `:1:19: trusted_proxies "10.0.0.0/33": is neither an address nor a range`,
		"trusted_proxies: [::1, proxy.local]":                                `trusted_proxies "proxy.local": is neither an address nor a range`,

		// Keys, plans, overrides, costs.
		one("key: ip", "rate: 1/s"):                                                                                      `:3:10: limits.x.key "ip": is no part of a request; write address, route,`,
		one("key: header", "rate: 1/s"):                                                                                  `:3:10: limits.x.key "header": needs one thing behind header: a header's name`,
		one("key: 'header X-Tenant:'", "rate: 1/s"):                                                                      `:3:10: limits.x.key "header X-Tenant:": has "X-Tenant:" behind header, which can't be a header's name`,
		one(`key: "api_key X\0"`, "rate: 1/s"):                                                                           `which can't be a header's name`,
		one("key: [address, fingerprint Größe]", "rate: 1/s"):                                                            `which can't be a header's name`,
		one("key: all", "rate: 5/s", "cost: {from: 'header X=1', max: 3, default: 1}"):                                   `has "X=1" behind header, which can't be a header's name`,
		"class_header: {name: 'X Class', from: [10.0.0.1]}":                                                              `:1:22: class_header.name "X Class": can't be a header's name`,
		one("key: identity X", "rate: 1/s"):                                                                              `:3:10: limits.x.key "identity X": has something behind identity, which takes nothing`,
		one("key: header X | upper", "rate: 1/s"):                                                                        `has no normaliser "upper"; there are fold and bearer`,
		one("key: address | fold", "rate: 1/s"):                                                                          `takes no normaliser`,
		one("key: address/4/64", "rate: 1/s"):                                                                            `has no such prefix lengths; write address/24/56`,
		one("key: address/24", "rate: 1/s"):                                                                              `has no such prefix lengths`,
		one("key: header/24 X", "rate: 1/s"):                                                                             `is no part of a request`,
		one("key: [address, address/24/56]", "rate: 1/s"):                                                                `:3:20: limits.x.key[1] "address/24/56": is in the key already`,
		one("key: [fingerprint X-Device]", "rate: 1/s"):                                                                  `limits.x.key: has a fingerprint without an address`,
		one("key: [a, b, c, d, e, f, g]", "rate: 1/s"):                                                                   `limits.x.key: has more than 6 parts`,
		one("key: identity", "rate: 1/s", "missing: drop"):                                                               `:5:14: limits.x.missing "drop": is no part of a request`,
		one("key: identity", "rate: 1/s", "missing: identity"):                                                           `limits.x.missing "identity": is the key itself`,
		one("key: all", "rate: 1/s", "missing: skip"):                                                                    `limits.x.missing "skip": has no key beside it`,
		one("key: identity", "plans: {a: 1/s}", "default_plan: a"):                                                       `limits.x.plan: is missing`,
		one("key: identity", "plan: extract p", "plans: {a: 1/s}"):                                                       `limits.x.default_plan: is missing; write which of a`,
		one("key: identity", "plan: extract p", "plans: {a: 1/s}", "default_plan: gold"):                                 `:6:19: limits.x.default_plan "gold": is none of the plans; there are a`,
		one("key: identity", "plan: extract p", "default_plan: a"):                                                       `limits.x.plans: is missing`,
		one("key: identity", "plan: extract p", "plans: {a: 1/s}", "default_plan: a", "rate: 1/s"):                       `:7:11: limits.x.rate "1/s": stands beside plans`,
		one("key: identity", "plan: extract p", "plans: {}", "default_plan: a"):                                          `:5:12: limits.x.plans: has no plan; write the plans and their numbers`,
		one("key: identity", "plan: extract p", "plans: {a: }", "default_plan: a"):                                       `limits.x.plans.a: is empty`,
		one("key: identity", "plan: address", "plans: {a: 1/s}", "default_plan: a"):                                      `limits.x.plan "address": is an address`,
		"limits:\n  x: {key: identity, plan: extract p, plans: {a: 1/s}, default_plan: a}\n  x.a: {key: all, rate: 1/s}": `:3:3: limits.x.a: makes a second limit named "x.a"`,
		one("key: identity", "rate: 1/s", "overrides: {o: {keys: a}}"):                                                   `limits.x.overrides.o: changes nothing`,
		one("key: identity", "rate: 1/s", "overrides: {o: {mode: off}}"):                                                 `limits.x.overrides.o.keys: is missing`,
		one("key: identity", "rate: 1/s", "overrides: {o: {keys: [], mode: off}}"):                                       `limits.x.overrides.o.keys: is an empty list`,
		one("key: identity", "rate: 1/s", "overrides: {o: {keys: [[a, b]], mode: off}}"):                                 `limits.x.overrides.o.keys[0]: has 2 values, and the limit's key has 1 parts`,
		one("key: address", "rate: 1/s", "overrides: {o: {keys: junk, mode: off}}"):                                      `limits.x.overrides.o.keys[0] "junk": is no address`,
		one("key: identity", "rate: 1/s", "overrides: {o: {keys: a, mode: off, until: tomorrow}}"):                       `limits.x.overrides.o.until "tomorrow": is no moment`,
		one("key: identity", "rate: 1/s", "overrides: {o: {keys: a, mode: off}, p: {keys: a, rate: 2/s}}"):               `limits.x.overrides.p: has a key that the override o has too`,
		one("key: all", "rate: 1/s", "overrides: {o: {keys: a, mode: off}}"):                                             `limits.x.overrides: has no key beside it`,
		one("key: all", "rate: 5/s", "cost: 0"):                                                                          `:5:11: limits.x.cost "0": must be from 1 to`,
		one("key: all", "rate: 5/s", "cost: -1"):                                                                         `:5:11: limits.x.cost "-1": must be from 1 to`,
		one("key: all", "rate: 5/s", "cost: 6"):                                                                          `:5:11: limits.x.cost "6": is above 5, the most that x can ever grant at once`,
		one("key: all", "rate: 5/s", "cost: {from: header X-Cost}"):                                                      `limits.x.cost.max: is missing; write the most that a client's word can claim`,
		one("key: all", "rate: 5/s", "cost: {from: header X-Cost, max: 3, default: 4}"):                                  `limits.x.cost.default "4": is above max`,
		one("key: all", "rate: 5/s", "cost: {from: header X-Cost, max: 3, default: -4}"):                                 `limits.x.cost.default "-4": must be from 0 to`,
		one("key: all", "rate: 5/s", "cost: {from: address, max: 3}"):                                                    `limits.x.cost.from "address": can't be a cost`,

		// Routes and classes.
		one("key: all", "rate: 5/s", "routes: [search]"):                   `:5:14: limits.x.routes "search": is no route pattern`,
		one("key: all", "rate: 5/s", "routes: ['GET /{a}/{a}']"):           `limits.x.routes "GET /{a}/{a}": is no route pattern`,
		one("key: all", "rate: 5/s", "routes: ['GRAB /x']"):                `limits.x.routes "GRAB /x": has a method of its own making`,
		one("key: all", "rate: 5/s", "methods: [GRAB]"):                    `limits.x.methods "GRAB": is no HTTP method`,
		one("key: all", "rate: 5/s", "routes: [GET /x]", "methods: [PUT]"): `limits.x.methods: leaves nothing of the route "GET /x"`,
		"exempt: [/health/]":                                         `exempt: names "/health/", which is more than one path`,
		"exempt: ['/{x}']":                                           `exempt: names "/{x}", which is more than one path`,
		"classes: {class: test}":                                     `:1:10: classes: is a mapping; it must be a list of rules`,
		"classes:\n- {class: tset}":                                  `:2:11: classes[0].class "tset": must be one of test, read, write, critical`,
		"classes:\n- {class: test, prefix: a_}":                      `classes[0].credential: and prefix belong together`,
		"classes:\n- {class: test, credential: address, prefix: a_}": `classes[0].credential "address": is an address`,
		"classes:\n- {class: read}\n- {class: test, routes: [/a]}":   `:3:3: classes[1]: can never apply: the rule in line 2 takes every request`,
	} {
		t.Run(want, func(t *testing.T) {
			found := faults(t, text)
			require.NotEmpty(t, found, text)
			require.Contains(t, strings.Join(found, "\n"), want, text)
		})
	}
}

// An operator mends a file once, not once per fault.
func TestAllFaultsAreReportedAtOnceInTheOrderOfTheFile(t *testing.T) {
	require.Equal(t, []string{
		`:1:16: default_class "gold": must be one of test, read, write, critical`,
		`:4:11: limits.login.rate "5x": is no rate; write a whole number and a time, such as 10/s, 60/min, 5/h, 1000/day or 20/5s`,
		`:5:5: limits.login.brust: is no field; did you mean burst?`,
		`:6:3: limits.api: is empty; fill it or take it out`,
		`:8:3: gate.capacity: is missing; write how many requests the process can work on at once`,
		`:8:12: gate.reserve "lots": is no share; write a percentage, such as 20%`,
	}, faults(t, `default_class: gold
limits:
  login: {key: address,
    rate: 5x,
    brust: 5}
  api:
gate:
  reserve: lots
`))
}

func TestFaultsCanBeTakenApart(t *testing.T) {
	_, err := policy.Parse("file.yaml", []byte("limits:\n  x: {key: all, rate: 5x}\n"))
	var e *policy.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "file.yaml", e.File)
	require.Equal(t, 2, e.Line)
	require.Equal(t, 23, e.Column)
	require.Equal(t, "limits.x.rate", e.Field)
	require.Equal(t, "5x", e.Value)
	require.EqualError(t, err, `policy: file.yaml:2:23: limits.x.rate "5x": `+e.Problem)
	require.True(t, errors.Is(err, e))
}

// More limits on one route than a request may claim is a fault of the file, not
// a surprise of the first request.
func TestRouteWithTooManyLimitsIsAFault(t *testing.T) {
	var b strings.Builder
	b.WriteString("limits:\n")
	for _, n := range strings.Split("abcdefgh", "") {
		b.WriteString("  " + n + ": {key: all, rate: 1/s}\n")
	}
	require.Empty(t, faults(t, b.String()))
	require.Contains(t, faults(t, b.String()+"  i: {key: all, rate: 1/s, routes: [POST /pay]}\n")[0],
		`limits: has 9 limits on the route "POST /pay"; a request may meet 8`)
	require.Empty(t, faults(t, strings.ReplaceAll(b.String(), "1/s", "1/s, methods: [GET]")+"  i: {key: all, rate: 1/s, routes: [POST /pay]}\n"))
}

// A file without an end, or a large one by mistake, takes no memory to refuse.
func TestNoMoreOfAFileIsReadThanAPolicyCanHave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, 1<<26))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := policy.Load(path)
	runtime.ReadMemStats(&after)
	require.ErrorContains(t, err, "is larger than 131072 bytes")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<24))
}

// What has been refused is not also said to be empty, or missing.
func TestOneFaultIsOneError(t *testing.T) {
	for text, want := range map[string]string{
		"&x {limits: {}}":                                        ":1:1: is a YAML anchor",
		"limits: &x {}":                                          ":1:9: limits: is a YAML anchor",
		"limits:\n  x: &y {key: all, rate: 1/s}":                 ":2:6: limits.x: is a YAML anchor",
		one("key: all", "rate: !!str 1/s"):                       ":4:11: limits.x.rate: is a YAML tag",
		one("key: [address, *y]", "rate: 1/s"):                   "limits.x.key[1]: is a YAML anchor or alias",
		one("key: all", "rate: 1/s", "cost: &c {from: query q}"): ":5:11: limits.x.cost: is a YAML anchor",
	} {
		all := faults(t, text)
		require.Len(t, all, 1, text)
		require.Contains(t, all[0], want)
	}
}
