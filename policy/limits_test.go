package policy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

func withHeader(a *attrs, name, value string) *attrs {
	a.header = header(name, value)
	return a
}

func TestPolicyBecomesTheEnginesConfiguration(t *testing.T) {
	p, err := policy.Parse("p", []byte(`
default_class: write
max_entries: 4096
gate: {capacity: 200, reserve: 20%, hard_cap: 300, mode: shadow, retry_after: 2s}
ladder: {mode: {enabled: 50%, enforced: 10%}, retry_after: 5s}
limits:
  bucket: {key: all, rate: 10/s}
  burst: {key: all, rate: 20/5s, burst: 7, post_paid: true, mode: off, fail: closed, overflow: open}
  quota: {kind: quota, key: all, rate: 1000/day, zone: Europe/Berlin, reset_at: "06:30", overflow: closed}
  window: {kind: quota, key: all, rate: 1000, window: month}
  slide: {kind: sliding, key: all, rate: 5, window: 36h}
  flight: {kind: in_flight, key: all, max: 20, retry_after: 250ms, mode: shadow}
  block: {kind: block, routes: [/b], methods: [PUT]}
  free: {kind: unlimited, routes: [/f]}
  mine: {routes: [/m], key: identity, plan: extract plan, default_plan: a, plans: {a: 1/s, b: {rate: 5/s, burst: 50, mode: shadow}, c: {kind: unlimited}}, fail: closed,
    overrides: {vip: {keys: [x, y], rate: 9/s}, watch: {keys: z, mode: shadow}}}
`), policy.CheckOnly())
	require.NoError(t, err)
	cfg := p.Config()
	require.Equal(t, engine.Write, cfg.Default)
	require.Equal(t, 4096, cfg.MaxEntries)
	require.Equal(t, engine.Gate{Mode: engine.Shadow, Capacity: 200, Reserve: 0.2, HardCap: 300, RetryAfter: 2 * time.Second}, cfg.Gate)
	require.Equal(t, engine.Ladder{Mode: engine.Ramp(0.5, 0.1), RetryAfter: 5 * time.Second}, cfg.Ladder)
	require.Equal(t, []engine.Limit{
		{Name: "bucket", Rate: 10, Per: time.Second, Burst: 10},
		{Name: "burst", Rate: 20, Per: 5 * time.Second, Burst: 7, PostPaid: true, Mode: engine.Off, Fail: engine.FailClosed, Overflow: engine.OverflowOpen},
		{Name: "quota", Kind: engine.Quota, Rate: 1000, Window: engine.Day, Zone: "Europe/Berlin", ResetAt: 6*time.Hour + 30*time.Minute, Overflow: engine.OverflowClosed},
		{Name: "window", Kind: engine.Quota, Rate: 1000, Window: engine.Month},
		{Name: "slide", Kind: engine.Sliding, Rate: 5, Per: 36 * time.Hour},
		{Name: "flight", Kind: engine.InFlight, Max: 20, RetryAfter: 250 * time.Millisecond, Mode: engine.Shadow},
		{Name: "block", Kind: engine.Block},
		{Name: "free", Kind: engine.Unlimited},
		{Name: "mine.a", Rate: 1, Per: time.Second, Burst: 1, Fail: engine.FailClosed},
		{Name: "mine.b", Rate: 5, Per: time.Second, Burst: 50, Fail: engine.FailClosed, Mode: engine.Shadow},
		{Name: "mine.c", Kind: engine.Unlimited, Fail: engine.FailClosed},
		{Name: "mine.missing", Kind: engine.Block, Fail: engine.FailClosed},
		{Name: "mine.vip", Rate: 9, Per: time.Second, Burst: 9, Fail: engine.FailClosed},
		{Name: "mine.a.watch", Rate: 1, Per: time.Second, Burst: 1, Fail: engine.FailClosed, Mode: engine.Shadow},
		{Name: "mine.b.watch", Rate: 5, Per: time.Second, Burst: 50, Fail: engine.FailClosed, Mode: engine.Shadow},
		{Name: "mine.c.watch", Kind: engine.Unlimited, Fail: engine.FailClosed, Mode: engine.Shadow},
	}, cfg.Limits)
}

func TestSharedLimitsSayHow(t *testing.T) {
	p, err := policy.Parse("p", []byte(`
limits:
  a: {key: all, rate: 1/s, sync: share}
  b: {key: all, rate: 1/s, sync: {mode: strict, on_stale: closed, floor: 10%, grace: 2s, cold: conservative}}
`), policy.CheckOnly())
	require.NoError(t, err)
	require.Equal(t, engine.Sync{Mode: engine.SyncShare}, p.Config().Limits[0].Sync)
	require.Equal(t, engine.Sync{Mode: engine.SyncStrict, OnStale: engine.StaleClosed, Floor: 0.1, Grace: 2 * time.Second, Cold: engine.ColdConservative}, p.Config().Limits[1].Sync)
	_, err = policy.Parse("p", []byte("limits: {a: {key: all, rate: 1/s, sync: share}}"))
	require.ErrorContains(t, err, "p:1:41: limits.a.sync", "without a fleet there is nobody to share with")
}

// Nothing is on that the file does not name.
func TestEmptySectionsLeaveTheLayersOut(t *testing.T) {
	p, err := policy.Parse("p", []byte("default_class: read"))
	require.NoError(t, err)
	require.Equal(t, engine.Config{Default: engine.Read, Ladder: engine.Ladder{Mode: engine.Off}}, p.Config())
}

func TestSecretClockAndSignalsAreTheServices(t *testing.T) {
	clock := engine.NewManualClock(start)
	p, err := policy.Parse("p", []byte("ladder: {}"), policy.Base(engine.Config{Clock: clock, Secret: make([]byte, 16), PreciseClock: true, MaxEntries: 5, Default: engine.Test}))
	require.NoError(t, err)
	require.Equal(t, engine.Config{Clock: clock, Secret: make([]byte, 16), PreciseClock: true}, p.Config(), "what the file decides, the file decides")
	_, err = policy.Parse("p", []byte("limits: {}"), policy.Base(engine.Config{Secret: []byte("short")}))
	require.ErrorContains(t, err, "policy: p: secret: 5 bytes")
}

func TestPlansHaveTheirOwnNumbers(t *testing.T) {
	s := serve(t, `
limits:
  api: {key: identity, plan: header Plan, default_plan: free, plans: {free: 2/h, pro: 5/h, enterprise: {kind: unlimited}}}
`)
	require.Equal(t, 2, s.admitted(9, withHeader(by("a"), "Plan", "free")))
	require.Equal(t, 5, s.admitted(9, withHeader(by("b"), "Plan", "pro")))
	require.Equal(t, 9, s.admitted(9, withHeader(by("c"), "Plan", "enterprise")))
	require.Equal(t, 2, s.admitted(9, withHeader(by("d"), "Plan", "gold")), "an unknown plan is the default one")
	require.Equal(t, 2, s.admitted(9, by("e")))
	d := s.ask(withHeader(by("b"), "Plan", "pro"))
	require.Equal(t, "api.pro", s.engine.LimitName(d.Limit))
}

func TestOverridesAreForTheirKeysAndTheirTime(t *testing.T) {
	s := serve(t, `
limits:
  api:
    key: [identity, header Region | fold]
    rate: 2/h
    overrides:
      sale: {keys: [[acme, EU], [bigco, us]], rate: 6/h, until: 2026-03-02T13:00:00Z}
      watch: {keys: [[globex, eu]], mode: shadow}
      banned: {keys: [[mallory, eu]], kind: block}
`)
	ask := func(who, region string) int { return s.admitted(9, withHeader(by(who), "Region", region)) }
	require.Equal(t, 6, ask("acme", "eu"))
	require.Equal(t, 6, ask("bigco", "US"))
	require.Equal(t, 2, ask("acme", "us"), "another key")
	require.Equal(t, 9, ask("globex", "eu"))
	require.Equal(t, 0, ask("mallory", "eu"))
	s.clock.Advance(time.Hour - time.Nanosecond)
	require.Equal(t, 5, ask("bigco", "us"), "refilled by the last moment of the sale")
	s.clock.Advance(time.Nanosecond)
	require.Equal(t, 2, ask("acme", "eu"), "the sale is over: the limit's own numbers")
	require.Equal(t, 2, ask("bigco", "us"))
	require.Equal(t, 9, ask("globex", "eu"), "for good")
	var would uint64
	for _, l := range s.engine.Snapshot().Limits {
		if l.Name == "api.watch" {
			for _, c := range l.WouldRefuse {
				for _, n := range c {
					would += n
				}
			}
		}
	}
	require.Equal(t, uint64(7+7), would, "what enforcing would have refused, both times")
}

// An override of a limit with plans ends as well, for whatever plan its key has.
func TestOverridesOfPlansEnd(t *testing.T) {
	s := serve(t, `
limits:
  api:
    key: identity
    plan: header Plan
    plans: {free: 1/h, pro: 3/h}
    default_plan: free
    overrides:
      sale: {keys: [acme, bigco, other], mode: off, until: 2026-03-02T13:00:00Z}
`)
	ask := func(who, plan string) int { return s.admitted(9, withHeader(by(who), "Plan", plan)) }
	require.Equal(t, 9, ask("acme", "pro"))
	require.Equal(t, 9, ask("bigco", "free"))
	s.clock.Advance(time.Hour)
	require.Equal(t, 3, ask("acme", "pro"))
	require.Equal(t, 1, ask("bigco", "free"))
	require.Equal(t, 1, ask("other", ""))
}

func TestCostsComeFromTheirSource(t *testing.T) {
	s := serve(t, `
limits:
  fixed: {routes: [/fixed], key: identity, rate: 10/h, cost: 4}
  header: {routes: [/header], key: identity, rate: 10/h, cost: {from: header X-Cost, max: 5, default: 2}}
  query: {routes: [/query], key: identity, rate: 10/h, cost: {from: query n, max: 5}}
  code: {routes: [/code], key: identity, rate: 10/h, cost: {from: extract price, max: 8}}
`, policy.ExtractCost("price", func(a policy.Attrs) int64 { return int64(len(a.Query("text"))) }))
	cost := func(route, name, value string) int64 {
		a := by("x")
		a.route, a.query = route, header(name, value)
		if value != "" {
			a.header = header(name, value)
		}
		claims := s.bind(a).Claims
		require.Len(t, claims, 1)
		return claims[0].Cost
	}
	require.Equal(t, int64(4), cost("/fixed", "X-Cost", "9"))
	require.Equal(t, int64(3), cost("/header", "X-Cost", "3"))
	require.Equal(t, int64(5), cost("/header", "X-Cost", "6"), "capped")
	require.Equal(t, int64(5), cost("/header", "X-Cost", "junk"), "nonsense is not the cheapest thing to send")
	require.Equal(t, int64(5), cost("/header", "X-Cost", "99999999999999999999"))
	require.Equal(t, int64(2), cost("/header", "X-Cost", ""))
	require.Equal(t, int64(0), cost("/header", "X-Cost", "0"))
	require.Equal(t, int64(-5), cost("/header", "X-Cost", "-5"))
	require.Equal(t, int64(1), cost("/query", "other", "3"))
	require.Equal(t, int64(3), cost("/query", "n", "3"))
	require.Equal(t, int64(8), cost("/code", "text", "a very long text"))
}

// A negative cost out of a header mints nothing, and a cost of 0 charges and
// creates nothing.
func TestNegativeCostMintsNothing(t *testing.T) {
	s := serve(t, "limits: {x: {key: identity, rate: 5/h, cost: {from: header X-Cost, max: 5}}}")
	require.True(t, s.ask(withHeader(by("a"), "X-Cost", "5")).OK())
	d := s.ask(withHeader(by("a"), "X-Cost", "-5"))
	require.Equal(t, engine.NeverFits, d.Reason)
	require.False(t, s.ask(withHeader(by("a"), "X-Cost", "1")).OK())
	require.True(t, s.ask(withHeader(by("a"), "X-Cost", "0")).OK())
}

// A panic in the service's own code never reaches the caller: the limit that
// asked follows its fail policy and the others are enforced.
func TestPanickingExtractorFollowsTheFailPolicy(t *testing.T) {
	var broken *attrs
	opts := []policy.Option{
		policy.Extract("email", func(policy.Attrs) string { return broken.identity }), // nil dereference
		policy.ExtractCost("price", func(policy.Attrs) int64 { panic("no price") }),
	}
	for _, c := range []struct {
		name, field string
	}{
		{"key", "key: extract email, rate: 1/h"},
		{"cost", "key: identity, rate: 1/h, cost: {from: extract price}"},
		{"plan", "key: identity, plan: extract email, plans: {a: 1/h}, default_plan: a"},
		{"fallback", "key: header None, missing: extract email, rate: 1/h"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, "limits: {broken: {"+c.field+"}, other: {key: identity, rate: 2/h}}", opts...)
			require.Equal(t, 2, s.admitted(9, by("a")), "fails open, and the other limit counts")
			require.Equal(t, uint64(9), s.bound.Stats().Faults["broken"])
			s = serve(t, "limits: {broken: {fail: closed, "+c.field+"}, other: {key: identity, rate: 2/h}}", opts...)
			d := s.ask(by("a"))
			require.Equal(t, engine.Closed, d.Reason)
			s = serve(t, "limits: {broken: {fail: closed, mode: shadow, "+c.field+"}, other: {key: identity, rate: 2/h}}", opts...)
			require.True(t, s.ask(by("a")).OK(), "a limit in shadow refuses nothing")
		})
	}
	s := serve(t, "classes: [{class: test, credential: extract email, prefix: a}]", opts...)
	require.Equal(t, engine.ClassUnset, s.bind(by("a")).Class)
}

func TestPolicyThatWasOnlyCheckedIsNotBound(t *testing.T) {
	p, err := policy.Parse("p", []byte("limits: {x: {key: extract anything, rate: 1/s}}"), policy.CheckOnly())
	require.NoError(t, err)
	e := engine.Must(engine.New(p.Config()))
	defer e.Close()
	_, err = policy.New(e, p)
	require.ErrorContains(t, err, "CheckOnly")
	_, err = policy.Parse("p", []byte("limits: {x: {key: extract anything, rate: 1/s}}"))
	require.ErrorContains(t, err, "names no registered extractor; none is registered")
	other, err := policy.Parse("p", []byte("limits: {y: {key: all, rate: 1/s}}"))
	require.NoError(t, err)
	_, err = policy.New(e, other)
	require.ErrorContains(t, err, `the engine has no limit "y"`)
}
