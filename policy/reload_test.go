package policy_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

func TestReloadAppliesToKeysThatAreKnown(t *testing.T) {
	s := serve(t, "limits: {x: {key: identity, rate: 100/min}}")
	require.True(t, s.ask(by("a")).OK())
	s.swap("limits: {x: {key: identity, rate: 10/min}}")
	s.clock.Advance(time.Second)
	require.Equal(t, 9, s.admitted(20, by("a")), "one of the ten was spent before, and the old burst is gone")
}

// Neither the same file nor a change of another limit gives anyone anything.
func TestReloadRefillsNothing(t *testing.T) {
	const text = "limits: {x: {key: identity, rate: 1/s, burst: 5}}"
	s := serve(t, text)
	require.Equal(t, 5, s.admitted(9, by("a")))
	s.swap(text)
	require.Zero(t, s.admitted(1, by("a")))
	s.swap(text + "\n# a comment\nladder: {mode: shadow}")
	require.Zero(t, s.admitted(1, by("a")))
	for i := range 1000 {
		s.swap(fmt.Sprintf("limits: {x: {key: identity, rate: 1/s, burst: 5}, other: {key: all, rate: %d/s}}", i%7+1))
		s.clock.Advance(time.Millisecond)
	}
	require.LessOrEqual(t, s.admitted(9, by("a")), 1)
}

func TestOverridesAndPlansCanComeAndGo(t *testing.T) {
	s := serve(t, "limits: {x: {key: identity, rate: 2/h}}")
	require.Equal(t, 2, s.admitted(9, by("a")))
	s.swap("limits: {x: {key: identity, rate: 2/h, overrides: {sale: {keys: a, rate: 5/h}}}}")
	require.Equal(t, 5, s.admitted(9, by("a")))
	require.Equal(t, 2, s.admitted(9, by("b")))
	s.swap("limits: {x: {key: identity, rate: 2/h}}")
	require.Zero(t, s.admitted(9, by("a")), "the limit's own state was kept")
	_, ok := s.engine.Limit("x.sale")
	require.False(t, ok)
	s.swap("classes: [{class: read}]")
	require.Equal(t, 9, s.admitted(9, by("a")))
	require.Empty(t, s.limits(by("a")))
}

func TestRefusedSwapLeavesThePolicyInForce(t *testing.T) {
	s := serve(t, "limits: {x: {key: identity, rate: 2/h}}")
	old := s.bound.Policy()
	bigger, err := policy.Parse("p", []byte("max_entries: 77\nlimits: {y: {key: all, rate: 1/s}}"), policy.Base(engine.Config{Clock: s.clock}))
	require.NoError(t, err)
	require.ErrorContains(t, s.bound.Swap(bigger), "max entries")
	require.Same(t, old, s.bound.Policy())
	require.Equal(t, 2, s.admitted(9, by("a")))
	unbound, err := policy.Parse("p", []byte("limits: {y: {key: extract z, rate: 1/s}}"), policy.CheckOnly())
	require.NoError(t, err)
	require.Error(t, s.bound.Swap(unbound))
	require.Equal(t, []string{"x"}, s.limits(by("a")))
}

func TestKillSwitchInTheFileIsImmediate(t *testing.T) {
	const text = "limits: {x: {key: identity, rate: 1/h%s}}"
	s := serve(t, fmt.Sprintf(text, ""))
	require.Equal(t, 1, s.admitted(3, by("a")))
	s.swap(fmt.Sprintf(text, ", mode: off"))
	require.Equal(t, 3, s.admitted(3, by("a")))
	s.swap(fmt.Sprintf(text, ", mode: shadow"))
	require.Equal(t, 3, s.admitted(3, by("a")))
	s.swap(fmt.Sprintf(text, ""))
	require.Zero(t, s.admitted(3, by("a")))
}

// A switch thrown by hand in an incident is not undone by a reload that does not
// speak of it.
func TestModeSetByHandSurvivesAReload(t *testing.T) {
	s := serve(t, "limits: {x: {key: identity, rate: 1/h}}")
	require.NoError(t, s.engine.SetMode("x", engine.Off))
	s.swap("limits: {x: {key: identity, rate: 1/h}, y: {key: all, rate: 1000/s}}")
	require.Equal(t, 9, s.admitted(9, by("a")))
}

// Requests meet the old policy or the new while it changes under them: none is
// refused for the change, and none slips past the limit that both have.
func TestReloadUnderLoadDropsNothing(t *testing.T) {
	const (
		kept = "  kept: {key: identity, rate: 1/h, burst: 1}\n"
		one  = "limits:\n" + kept + "  old: {key: all, rate: 1000000/ms}\n"
		two  = "limits:\n" + kept + "  new: {key: all, kind: in_flight, max: 1000}\n"
	)
	s := serve(t, one)
	policies := []*policy.Policy{s.parse(two), s.parse(one)}
	var wg sync.WaitGroup
	var refused, slipped atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	for g := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				who := by(fmt.Sprint(g, i))
				if !s.ask(who).OK() {
					refused.Add(1)
				}
				if s.ask(who).OK() {
					slipped.Add(1)
				}
			}
		})
	}
	for i := range 200 {
		if !s.engineSwap(policies[i%2]) {
			break
		}
	}
	cancel()
	wg.Wait()
	require.Zero(t, refused.Load())
	require.Zero(t, slipped.Load())
	m := s.engine.Snapshot().Misuse
	require.Equal(t, engine.Misuse{}, m)
}

func (s *service) engineSwap(p *policy.Policy) bool {
	err := s.bound.Swap(p)
	if err != nil {
		s.t.Error(err)
	}
	return err == nil
}

// A limit that is renamed is never missing: until requests are bound to its new
// name, the old one counts.
func TestRenamedLimitLeavesNoGap(t *testing.T) {
	var s *service
	var between []bool // what a spent key is told at every step of the swap
	log := slog.New(steps{func() {
		if s != nil {
			between = append(between, s.ask(by("a")).OK())
		}
	}})
	clock := engine.NewManualClock(start)
	parse := func(text string) *policy.Policy {
		p, err := policy.Parse("p", []byte(text), policy.Base(engine.Config{Clock: clock, Logger: log}))
		require.NoError(t, err)
		return p
	}
	p := parse("limits: {old: {key: identity, rate: 1/h}}")
	e := engine.Must(engine.New(p.Config()))
	defer e.Close()
	b, err := policy.New(e, p)
	require.NoError(t, err)
	s = &service{t: t, clock: clock, engine: e, bound: b}
	require.True(t, s.ask(by("a")).OK())
	require.NoError(t, b.Swap(parse("limits: {new: {key: identity, rate: 1/h}}")))
	require.NotEmpty(t, between, "the engine says when it has swapped")
	require.False(t, between[0], "the old limit still counts")
	require.Equal(t, []string{"new"}, s.limits(by("a")))
	_, ok := e.Limit("old")
	require.False(t, ok)
}

// steps is a log that calls a function for every line.
type steps struct{ at func() }

func (s steps) Enabled(context.Context, slog.Level) bool  { return true }
func (s steps) WithAttrs([]slog.Attr) slog.Handler        { return s }
func (s steps) WithGroup(string) slog.Handler             { return s }
func (s steps) Handle(context.Context, slog.Record) error { s.at(); return nil }

// The rows of a broken rollout: blank fields, null limits, unknown plans. None
// of them gets as far as the engine.
func TestBlankFieldsAreRefusedAndTheOldPolicyServes(t *testing.T) {
	s := serve(t, "limits: {x: {key: identity, rate: 2/h}}")
	for _, text := range []string{
		"limits: {x: null}", "limits: null", "limits: {x: {key: identity, rate: []}}", `limits: {x: {key: "", rate: 2/h}}`,
		"limits: {x: {key: identity, plan: header P, default_plan: gold, plans: {free: 1/s}}}",
		"limits: {x: {key: identity, plan: header P, default_plan: free, plans: {free: }}}",
		"limits: {x: {key: [~, identity], rate: 2/h}}", "{}x", "\x00", "limits: {x: {key: identity, rate: }}",
	} {
		_, err := policy.Parse("p", []byte(text), s.opts...)
		require.Error(t, err, text)
	}
	require.Equal(t, 2, s.admitted(9, by("a")))
}

// Cut off anywhere, the file of a policy is refused: it never passes for a
// policy with fewer limits.
func TestEveryPrefixOfAFileIsRefused(t *testing.T) {
	text := strings.TrimLeft(classPolicy, "\n") + "...\n"
	path := write(t, text)
	_, err := policy.Load(path)
	require.NoError(t, err)
	for n := range len(text) - len("\n") {
		require.NoError(t, os.WriteFile(path, []byte(text[:n]), 0o600))
		_, err := policy.Load(path)
		require.Error(t, err, "cut after %d bytes:\n%s", n, text[:n])
	}
}
