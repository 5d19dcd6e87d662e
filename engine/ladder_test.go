package engine_test

import (
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/ladder"
)

// load is a signal that is set by hand.
type load struct{ permille atomic.Int64 }

func (l *load) set(v float64) { l.permille.Store(int64(v * 1000)) }

func (l *load) read() ladder.Reading {
	return ladder.Reading{Value: float64(l.permille.Load()) / 1000, OK: true}
}

// shares is the share of 1,000 users of each class that is admitted.
func (f *fixture) shares() (s [engine.Critical + 1]float64) {
	for c := engine.Test; c <= engine.Critical; c++ {
		for u := range 1000 {
			tk := f.Admit(engine.Request{Class: c, Cohort: f.Key("user", strconv.Itoa(u)).P})
			if tk.OK() {
				s[c] += 0.001
			}
			tk.Done(engine.Success)
		}
	}
	return s
}

// Under a load that stays bad classes are shed in their order, some of one class
// only when all of those below it are; critical requests never. When the load
// goes they come back in the reverse order, the last of them too.
func TestClassesAreShedAndRestoredInOrder(t *testing.T) {
	var l load
	f := start(t, engine.Config{Ladder: engine.Ladder{Signal: l.read}})
	ordered := func() float64 {
		s := f.shares()
		require.InDelta(t, 1, s[engine.Critical], 1e-9)
		for c := engine.Test; c < engine.Write; c++ {
			if s[c] > 0.0001 {
				require.InDelta(t, 1, s[c+1], 1e-9, "%v: %v", c, s)
			}
		}
		level := f.Snapshot().Ladder.Level
		require.InDelta(t, 3-level, s[engine.Test]+s[engine.Read]+s[engine.Write], 0.1)
		return level
	}
	l.set(2)
	highest := 0.0
	for range 60 {
		f.clock.Advance(time.Second)
		highest = max(highest, ordered())
	}
	require.Greater(t, highest, 2.0)
	l.set(0.1)
	for range 120 {
		f.clock.Advance(10 * time.Second)
		ordered()
	}
	require.Zero(t, f.Snapshot().Ladder.Level)
	require.InDelta(t, 1, f.shares()[engine.Test], 1e-9)
}

// The same user meets the same answer while an incident lasts, by the first
// claim's key when there is no cohort.
func TestSheddingIsStableWithinAnIncident(t *testing.T) {
	var l load
	f := start(t, engine.Config{Limits: []engine.Limit{tokens("api", 1_000_000, time.Second, 1_000_000)}, Ladder: engine.Ladder{Signal: l.read}})
	l.set(2)
	for f.Snapshot().Ladder.Level < 0.4 {
		f.clock.Advance(100 * time.Millisecond)
	}
	shed := 0
	for u := range 300 {
		req := engine.Request{Class: engine.Test, Claims: []engine.Claim{f.claim("api", strconv.Itoa(u), 1)}}
		first := f.Admit(req)
		for range 5 {
			again := f.Admit(req)
			require.Equal(t, first.OK(), again.OK())
		}
		if !first.OK() {
			shed++
		}
	}
	require.InDelta(t, 300*f.Snapshot().Ladder.Level, shed, 45)
}

// A signal that panics, or that says nothing, sheds nothing; the engine goes on.
func TestBrokenSignalsShedNothing(t *testing.T) {
	var broken atomic.Bool
	f := start(t, engine.Config{Ladder: engine.Ladder{Signal: func() ladder.Reading {
		if broken.Load() {
			panic("sensor")
		}
		return ladder.Reading{}
	}}})
	f.clock.Advance(10 * time.Second)
	require.Zero(t, f.Snapshot().Ladder.Level)
	require.Zero(t, f.Snapshot().Faults)
	broken.Store(true)
	f.clock.Advance(10 * time.Second)
	s := f.Snapshot()
	require.Zero(t, s.Ladder.Level)
	require.Positive(t, s.Faults)
	require.Positive(t, s.Unguarded)
	require.InDelta(t, 1, f.shares()[engine.Test], 1e-9)
}

// The pool's own figures drive the ladder when there is no other signal.
func TestStandingQueueDrivesTheLadder(t *testing.T) {
	var busy, queued atomic.Int64
	busy.Store(2)
	f := start(t, engine.Config{Workers: func() engine.WorkerStats {
		return engine.WorkerStats{Busy: int(busy.Load()), Queued: int(queued.Load()), Live: 10}
	}})
	f.clock.Advance(10 * time.Second)
	require.Zero(t, f.Snapshot().Ladder.Level)
	require.Equal(t, "workers", f.Snapshot().Ladder.Source)
	busy.Store(10)
	queued.Store(1000)
	f.clock.Advance(time.Minute)
	require.Greater(t, f.Snapshot().Ladder.Level, 1.0)
	busy.Store(2)
	queued.Store(0)
	f.clock.Advance(30 * time.Minute)
	require.Zero(t, f.Snapshot().Ladder.Level)
}

// With no request at all the level falls by time alone.
func TestLevelFallsWithoutTraffic(t *testing.T) {
	var l load
	f := start(t, engine.Config{Ladder: engine.Ladder{Signal: l.read}})
	l.set(3)
	f.clock.Advance(time.Minute)
	require.Greater(t, f.Snapshot().Ladder.Level, 2.0)
	l.set(0.1)
	f.clock.Advance(20 * time.Minute)
	tk := f.Admit(engine.Request{Class: engine.Test})
	require.True(t, tk.OK())
}

// A sensor that has nothing to say for a moment, as at the start or on an idle
// process, is no news; one that stays silent is, once.
func TestSignalThatStaysSilentIsReportedOnce(t *testing.T) {
	var out strings.Builder
	var talks bool
	f := start(t, engine.Config{
		Logger: slog.New(slog.NewTextHandler(&out, nil)),
		Ladder: engine.Ladder{Signal: func() ladder.Reading { return ladder.Reading{OK: talks} }},
	})
	said := func(after time.Duration) int {
		f.clock.Advance(after)
		return strings.Count(out.String(), "no reading from the load signal")
	}
	require.Zero(t, said(29*time.Second))
	require.Equal(t, 1, said(3*time.Second), out.String())
	require.Equal(t, 1, said(time.Hour))
	talks = true
	require.Equal(t, 1, said(time.Second))
	talks = false
	require.Equal(t, 1, said(29*time.Second))
	require.Equal(t, 2, said(3*time.Second))

	require.NoError(t, f.SetMode("worker", engine.Off))
	require.Equal(t, 2, said(time.Hour))
	require.NoError(t, f.SetMode("worker", engine.Enforce))
	require.Equal(t, 2, said(29*time.Second), "switched on again it starts anew")
	require.Equal(t, 3, said(3*time.Second))
}
