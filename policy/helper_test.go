package policy_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

// attrs is a request as a transport would describe it.
type attrs struct {
	route, method, identity string
	target                  string // the path as sent
	header, query, path     map[string]string
	peer, direct            netip.Addr
}

func (a *attrs) Route() string                    { return a.route }
func (a *attrs) Method() string                   { return a.method }
func (a *attrs) Header(name string) string        { return a.header[name] }
func (a *attrs) Query(name string) string         { return a.query[name] }
func (a *attrs) PathValue(n string) string        { return a.path[n] }
func (a *attrs) Peer() netip.Addr                 { return a.peer }
func (a *attrs) Identity() string                 { return a.identity }
func (a *attrs) DirectPeer() netip.Addr           { return a.direct }
func (a *attrs) Path() string                     { return a.target }
func header(name, value string) map[string]string { return map[string]string{name: value} }

func from(addr string) *attrs {
	return &attrs{method: "GET", route: "/", peer: netip.MustParseAddr(addr)}
}

func by(identity string) *attrs {
	return &attrs{method: "GET", route: "/", peer: netip.MustParseAddr("192.0.2.1"), identity: identity}
}

// service is an engine under a policy, on a clock that stands still.
type service struct {
	t      testing.TB
	clock  *engine.ManualClock
	engine *engine.Engine
	bound  *policy.Bound
	opts   []policy.Option
}

var start = time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)

func serve(t testing.TB, text string, opts ...policy.Option) *service {
	t.Helper()
	s := &service{t: t, clock: engine.NewManualClock(start)}
	s.opts = append(opts, policy.Base(engine.Config{Clock: s.clock, MaxEntries: 1 << 12}))
	p := s.parse(text)
	var err error
	s.engine, err = engine.New(p.Config())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.engine.Close()) })
	s.bound, err = policy.New(s.engine, p)
	require.NoError(t, err)
	return s
}

func (s *service) parse(text string) *policy.Policy {
	s.t.Helper()
	p, err := policy.Parse("policy.yaml", []byte(text), s.opts...)
	require.NoError(s.t, err)
	return p
}

func (s *service) swap(text string) {
	s.t.Helper()
	require.NoError(s.t, s.bound.Swap(s.parse(text)))
}

// ask decides on one request and ends it at once.
func (s *service) ask(a policy.Attrs) engine.Decision {
	var room [engine.MaxClaims]engine.Claim
	t := s.engine.Admit(s.bound.Bind(a, room[:0]))
	t.Done(engine.Success)
	return t.Decision()
}

// admitted is how many of n requests pass.
func (s *service) admitted(n int, a policy.Attrs) (passed int) {
	for range n {
		if s.ask(a).OK() {
			passed++
		}
	}
	return passed
}

func (s *service) bind(a policy.Attrs) engine.Request { return s.bound.Bind(a, nil) }

// limits are the names of the limits a request claims.
func (s *service) limits(a policy.Attrs) (names []string) {
	for _, c := range s.bind(a).Claims {
		names = append(names, s.engine.LimitName(c.Limit))
	}
	return names
}
