package engine_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/gate"
)

// fixture is an engine on a manual clock, with no ladder signal.
type fixture struct {
	*engine.Engine
	t     *testing.T
	clock *engine.ManualClock
}

var noon = time.Date(2025, 6, 2, 12, 0, 0, 0, time.UTC)

func start(t *testing.T, cfg engine.Config) *fixture {
	t.Helper()
	clock := engine.NewManualClock(noon)
	cfg.Clock = clock
	if cfg.MaxEntries == 0 {
		cfg.MaxEntries = 1 << 12
	}
	e, err := engine.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return &fixture{e, t, clock}
}

func limits(ls ...engine.Limit) engine.Config { return engine.Config{Limits: ls} }

func tokens(name string, rate int64, per time.Duration, burst int64) engine.Limit {
	return engine.Limit{Name: name, Rate: rate, Per: per, Burst: burst}
}

func inFlight(name string, n int64) engine.Limit {
	return engine.Limit{Name: name, Kind: engine.InFlight, Max: n}
}

// claim is a claim on the named limit for the key.
func (f *fixture) claim(limit, key string, cost int64) engine.Claim {
	f.t.Helper()
	id, ok := f.Limit(limit)
	require.True(f.t, ok, limit)
	return id.ClaimN(f.Key(key), cost)
}

// take admits one request of class Read on the limit and gives it back at once.
func (f *fixture) take(limit, key string, cost int64) engine.Decision {
	f.t.Helper()
	tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim(limit, key, cost)}})
	d := tk.Decision()
	tk.Done(engine.Success)
	return d
}

// admitted is how many of n takes of cost 1 are admitted.
func (f *fixture) admitted(limit, key string, n int) (ok int) {
	for range n {
		if f.take(limit, key, 1).OK() {
			ok++
		}
	}
	return ok
}

func TestManyGoroutinesOnOneKeyAdmitExactlyTheBurst(t *testing.T) {
	e := engine.Must(engine.New(engine.Config{
		Limits: []engine.Limit{tokens("login", 1, time.Hour, 1000)},
		Ladder: engine.Ladder{Mode: engine.Off},
	}))
	defer e.Close()
	id, _ := e.Limit("login")
	var ok, refused atomic.Int64
	var wg sync.WaitGroup
	for range 1000 {
		wg.Go(func() {
			for range 1000 {
				tk := e.Admit(engine.Request{Class: engine.Write, Claims: []engine.Claim{id.Claim(e.Key("user"))}})
				if tk.OK() {
					ok.Add(1)
				} else {
					refused.Add(1)
				}
				tk.Done(engine.Success)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1000, ok.Load())
	require.EqualValues(t, 999_000, refused.Load())
	s := e.Snapshot()
	require.EqualValues(t, 1000, s.Admitted[engine.Write])
	require.EqualValues(t, 999_000, s.Limits[0].Refused[engine.Write][engine.Limited])
}

func TestInFlightReturnsToZero(t *testing.T) {
	f := start(t, limits(inFlight("jobs", 2)))
	c := []engine.Claim{f.claim("jobs", "u", 1)}
	a := f.Admit(engine.Request{Class: engine.Read, Claims: c})
	b := f.Admit(engine.Request{Class: engine.Read, Claims: c})
	x := f.Admit(engine.Request{Class: engine.Read, Claims: c})
	require.True(t, a.OK())
	require.True(t, b.OK())
	require.Equal(t, engine.Decision{Reason: engine.Full, Layer: engine.Concurrency, Limit: 1, RetryAfter: time.Second}, x.Decision())
	require.EqualValues(t, 2, f.Snapshot().Limits[0].InFlight)
	a.Done(engine.Success)
	a.Done(engine.Success)
	a.Done(engine.Success)
	require.EqualValues(t, 1, f.Snapshot().Limits[0].InFlight)
	require.EqualValues(t, 2, f.Snapshot().Misuse.DoubleDone)
	b.Done(engine.Success)
	x.Done(engine.Success)
	require.EqualValues(t, 0, f.Snapshot().Limits[0].InFlight)
}

func TestAnAdaptiveCapacityFollowsTheLatency(t *testing.T) {
	f := start(t, engine.Config{Gate: engine.Gate{Reserve: 0.2, Adaptive: &gate.AdaptiveConfig{Initial: 50}}})
	require.Equal(t, 40, f.Snapshot().Gate.Allocation)
	round := func(latency time.Duration) {
		var held []*engine.Ticket
		for {
			tk := f.Admit(engine.Request{Class: engine.Read})
			if !tk.OK() {
				break
			}
			held = append(held, &tk)
		}
		f.clock.Advance(latency)
		for _, tk := range held {
			tk.Done(engine.Success)
		}
	}
	for range 50 {
		round(100 * time.Millisecond)
	}
	grown := f.Snapshot().Gate.Capacity
	require.Greater(t, grown, 50)
	for range 20 {
		round(time.Second)
	}
	require.Less(t, f.Snapshot().Gate.Capacity, grown/2)
	require.Zero(t, f.Snapshot().Gate.Other)
}
