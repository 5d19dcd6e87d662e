package fuzz

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

// FuzzPolicy reads anything as a policy: it never panics, every fault has its
// place, what is right is right for the engine too and says what it means, and
// the same text cut off is refused as a file.
func FuzzPolicy(f *testing.F) {
	f.Add([]byte("limits:\n  a: {key: [address, route], rate: 10/min, burst: 5}\n...\n"))
	f.Add([]byte("classes:\n- {class: test, credential: header A | bearer, prefix: [t_]}\nlimits:\n  a: {kind: quota, key: identity, rate: 5, window: day, zone: Europe/Berlin, reset_at: \"06:00\", cost: {from: header C, max: 3}}\n"))
	f.Add([]byte("gate: {capacity: 5, reserve: 20%}\nladder: {mode: {enabled: 5%, enforced: 1%}}\nlimits: {a: {key: identity, plan: extract p, default_plan: x, plans: {x: 1/s, y: {kind: unlimited}}, overrides: {o: {keys: [k], mode: off, until: 2026-01-02T03:04:05Z}}, fail: closed, sync: strict}}"))
	f.Add([]byte("limits: &a\n  <<: *a\n? x\n: y\n--- \n... \n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := policy.Parse("p", text, policy.CheckOnly())
		if err != nil {
			var all policy.Errors
			require.ErrorAs(t, err, &all)
			require.NotEmpty(t, all)
			for _, e := range all {
				require.NotEmpty(t, e.Problem)
				require.LessOrEqual(t, e.Line, 2+strings.Count(string(text), "\n")+strings.Count(string(text), "\r"))
			}
			return
		}
		cfg := p.Config()
		for i := range cfg.Limits {
			cfg.Limits[i].Sync = engine.Sync{} // there is no fleet here
		}
		require.NoError(t, cfg.Validate())
		var b strings.Builder
		require.NoError(t, p.Describe(&b))
		for _, l := range cfg.Limits {
			require.NotZero(t, l.Rate+l.Max+int64(l.Kind), "%s: no limit without a limit", l.Name)
		}
	})
}

// requestTape is a request whose attributes are read off a tape, in the order in
// which they are asked for.
type requestTape struct{ *tape }

func (r requestTape) Route() string           { return r.text(maxText) }
func (r requestTape) Method() string          { return r.text(maxText) }
func (r requestTape) Header(string) string    { return r.text(maxText) }
func (r requestTape) Query(string) string     { return r.text(maxText) }
func (r requestTape) PathValue(string) string { return r.text(maxText) }
func (r requestTape) Identity() string        { return r.text(maxText) }
func (r requestTape) Peer() netip.Addr        { a, _ := netip.ParseAddr(r.text(maxText)); return a }
func (r requestTape) DirectPeer() netip.Addr  { return r.Peer() }

const maxText = 40

// texts is a tape from which text reads these.
func texts(list ...string) (b []byte) {
	for _, s := range list {
		b = append(append(b, byte(len(s))), s...)
	}
	return b
}

// FuzzBind binds requests made of anything to a policy with every kind of part:
// it never panics, claims no limit twice, never gives a class that a rule does
// not, and is decided by the engine without misuse.
func FuzzBind(f *testing.F) {
	p, err := policy.Parse("p", []byte(`
class_header: {name: X-Class, from: [10.0.0.0/8]}
exempt: [/healthz]
classes:
  - {class: test, credential: header Authorization | bearer, prefix: [sk_]}
  - {class: read, routes: ["GET /a/{b}"]}
limits:
  a: {key: [address, route, method], rate: 1/s}
  b: {key: [identity, header T | fold], rate: 1/h, cost: {from: header Cost, max: 5}}
  c: {key: api_key K, kind: in_flight, max: 3, missing: refuse}
  d: {key: [address, fingerprint D], kind: sliding, rate: 5/h, missing: skip, routes: [/a/]}
  e: {key: query q, plan: path p, default_plan: x, plans: {x: 1/s, y: 2/s}, overrides: {o: {keys: k, mode: shadow}}}
`))
	require.NoError(f, err)
	cfg := p.Config()
	cfg.MaxEntries = 1 << 10
	e := engine.Must(engine.New(cfg))
	f.Cleanup(func() { _ = e.Close() })
	bound, err := policy.New(e, p)
	require.NoError(f, err)
	f.Add(texts("/a/{b}", "GET", "10.0.0.1", "critical", "192.0.2.1", "/a/{b}", "GET", "id", "T", "5"))
	f.Add(texts("/healthz", "HEAD", "::1", "\xff\xfe", "::ffff:1.2.3.4%eth0", "-9"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a := requestTape{&tape{b}}
		before := e.Snapshot().Misuse
		var room [engine.MaxClaims]engine.Claim
		req := bound.Bind(a, room[:0])
		require.LessOrEqual(t, req.Class, engine.Critical)
		require.LessOrEqual(t, len(req.Claims), 5)
		ticket := e.Admit(req)
		ticket.Done(engine.Success)
		after := e.Snapshot().Misuse
		after.Negative = before.Negative // a cost out of a header may be
		require.Equal(t, before, after)
		_ = bound.Exempt(a)
	})
}
