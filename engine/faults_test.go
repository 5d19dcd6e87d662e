package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
	"github.com/weir-go/weir/ladder"
)

// brokenStore is a fleet that panics whenever it is asked.
type brokenStore struct{}

func (brokenStore) Start(engine.SyncHost) error                { return nil }
func (brokenStore) Bind(engine.Binding) (engine.Shared, error) { return brokenShare{}, nil }
func (brokenStore) Snapshot() engine.FleetSnapshot             { return engine.FleetSnapshot{} }
func (brokenStore) Close() error                               { return errors.New("broken") }

type brokenShare struct{}

func (brokenShare) Peek(key.Key, int64, int64) engine.SharedStep {
	var s *engine.SharedStep
	return *s
}

func (brokenShare) Take(key.Key, int64, int64) (engine.SharedStep, engine.Handle) { panic("take") }
func (brokenShare) Undo(engine.Handle, int64)                                     { panic("undo") }
func (brokenShare) Refused(key.Key, engine.SharedStep, int64, int64)              { panic("refused") }
func (brokenShare) Done(uint64, int64)                                            { panic("done") }

// A limit whose store fails follows its own fail policy, 100 times out of 100;
// the other limits of the same requests go on counting, nothing escapes and
// nothing is left behind.
func TestABrokenStoreFollowsTheFailPolicy(t *testing.T) {
	secret := []byte("0123456789abcdef")
	shared := func(name string, fail engine.Fail) engine.Limit {
		l := tokens(name, 1, time.Hour, 1000)
		l.Fail, l.Sync = fail, engine.Sync{Mode: engine.SyncShare}
		return l
	}
	clock := engine.NewManualClock(noon)
	e, err := engine.New(engine.Config{
		Limits: []engine.Limit{shared("open", engine.FailOpen), shared("closed", engine.FailClosed), tokens("own", 1, time.Hour, 60), inFlight("jobs", 5)},
		Gate:   engine.Gate{Capacity: 5}, Clock: clock, Secret: secret, Sync: brokenStore{}, MaxEntries: 100,
	})
	require.NoError(t, err)
	f := &fixture{e, t, clock}
	ask := func(names ...string) engine.Decision {
		var claims []engine.Claim
		for _, n := range names {
			claims = append(claims, f.claim(n, "u", 1))
		}
		tk := f.Admit(engine.Request{Class: engine.Critical, Claims: claims})
		defer tk.Done(engine.Success)
		return tk.Decision()
	}
	for range 100 {
		require.True(t, ask("open", "jobs").OK())
		d := ask("closed", "jobs")
		require.Equal(t, engine.Closed, d.Reason)
		require.Equal(t, "closed", f.LimitName(d.Limit))
	}
	// The limits beside the broken one still count.
	for range 60 {
		require.True(t, ask("open", "own").OK())
	}
	require.Equal(t, engine.Limited, ask("open", "own").Reason)
	clock.Advance(time.Second)
	s := f.Snapshot()
	require.EqualValues(t, 261, s.Faults)
	require.Positive(t, s.Unguarded)
	require.Zero(t, s.Gate.Critical)
	require.Zero(t, s.Limits[3].InFlight)
	require.EqualError(t, e.Close(), "broken")
}

// panickyHandler is a logger that panics.
type panickyHandler struct{ slog.Handler }

func (panickyHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (panickyHandler) Handle(context.Context, slog.Record) error { panic("log") }

// Whatever the caller's functions do, the engine goes on deciding.
func TestPanickingCallbacksHarmNobody(t *testing.T) {
	for name, cfg := range map[string]engine.Config{
		"signal":  {Ladder: engine.Ladder{Signal: func() ladder.Reading { panic("signal") }}},
		"workers": {Workers: func() engine.WorkerStats { panic("workers") }},
		"logger":  {Logger: slog.New(panickyHandler{slog.DiscardHandler})},
		"redact":  {Redact: func(key.Key) string { panic("redact") }},
	} {
		t.Run(name, func(t *testing.T) {
			watched := tokens("watched", 1, time.Hour, 1)
			watched.Mode = engine.Shadow
			cfg.Limits = []engine.Limit{tokens("api", 1, time.Hour, 5), watched}
			f := start(t, cfg)
			for range 4 {
				f.clock.Advance(time.Second)
				require.True(t, f.take("watched", "u", 1).OK())
			}
			require.Equal(t, 5, f.admitted("api", "u", 10))
			require.NoError(t, f.SetMode("api", engine.Off))
			require.NoError(t, f.SetMode("api", engine.Enforce))
			require.NoError(t, f.Swap(f.config(cfg)))
			require.Equal(t, 0, f.admitted("api", "u", 10))
		})
	}
}

// config is the configuration with the fixture's clock and size.
func (f *fixture) config(cfg engine.Config) engine.Config {
	cfg.Clock, cfg.MaxEntries = f.clock, 1<<12
	return cfg
}

// A frozen clock admits the burst and nothing more.
func TestAFrozenClockGrantsNothing(t *testing.T) {
	f := start(t, limits(tokens("api", 1000, time.Second, 7)))
	require.Equal(t, 7, f.admitted("api", "u", 100_000))
}

// Steps of the wall clock, either way, neither drain nor fill a bucket.
func TestStepsOfTheWallClockChangeNoBucket(t *testing.T) {
	f := start(t, limits(tokens("api", 1, time.Second, 3)))
	require.Equal(t, 3, f.admitted("api", "u", 3))
	for _, step := range []time.Duration{-11 * time.Second, 111 * time.Second, -48 * time.Hour, 365 * 24 * time.Hour} {
		f.clock.StepWall(step)
		f.clock.Advance(1)
		d := f.take("api", "u", 1)
		require.Equal(t, engine.Limited, d.Reason, "step %v", step)
		require.InDelta(t, time.Second, d.RetryAfter, 10, "step %v", step)
	}
}

// A machine that was suspended comes back with a wall clock far ahead and a
// monotonic one that stood: buckets go on from where they were, a daily quota
// starts its new day.
func TestASuspendedMachine(t *testing.T) {
	f := start(t, limits(tokens("api", 1, time.Minute, 1), engine.Limit{Name: "daily", Kind: engine.Quota, Rate: 1, Window: engine.Day}))
	require.True(t, f.take("api", "u", 1).OK())
	require.True(t, f.take("daily", "u", 1).OK())
	f.clock.StepWall(20 * time.Hour)
	f.clock.Advance(time.Second)
	require.Equal(t, 59*time.Second, f.take("api", "u", 1).RetryAfter)
	require.True(t, f.take("daily", "u", 1).OK())
	d := f.take("daily", "u", 1)
	require.Equal(t, 16*time.Hour-time.Second, d.RetryAfter, "until the midnight after")
}

// The engine works inside a bubble of testing/synctest, whose time is not the
// machine's, and leaves no goroutine there.
func TestEngineInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := engine.New(limits(tokens("api", 10, time.Second, 2)))
		require.NoError(t, err)
		id, _ := e.Limit("api")
		ask := func() bool {
			tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(e.Key("u"))}})
			tk.Done(engine.Success)
			return tk.OK()
		}
		require.True(t, ask())
		require.True(t, ask())
		require.False(t, ask())
		time.Sleep(100 * time.Millisecond)
		require.True(t, ask())
		require.False(t, ask())
		require.NoError(t, e.Close())
	})
}

// GOMAXPROCS changes at any moment, up and down, while requests run.
func TestProcessorsComeAndGo(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	e := engine.Must(engine.New(limits(tokens("api", 1, time.Hour, 3000), inFlight("jobs", 3))))
	defer e.Close()
	api, _ := e.Limit("api")
	jobs, _ := e.Limit("jobs")
	var ok atomic.Int64
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 1; ; n = n%8 + 1 {
			select {
			case <-stop:
				return
			default:
				runtime.GOMAXPROCS(n)
			}
		}
	}()
	k := e.Key("u")
	run(8, func(int, *rand.Rand) {
		for range 1000 {
			tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{api.Claim(k), jobs.Claim(k)}})
			if tk.OK() {
				ok.Add(1)
			}
			tk.Done(engine.Success)
		}
	})
	close(stop)
	<-done
	require.LessOrEqual(t, ok.Load(), int64(3001))
	s := e.Snapshot()
	require.Zero(t, s.Limits[1].InFlight)
	require.EqualValues(t, ok.Load(), s.Admitted[engine.Read])
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
