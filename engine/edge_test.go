package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// The first handle that was never given out is unknown like any other.
func TestHandleJustPastTheLast(t *testing.T) {
	login := tokens("login", 1, time.Hour, 1)
	login.Fail = engine.FailClosed
	f := start(t, limits(tokens("api", 1, time.Hour, 1), login))
	const past = engine.LimitID(3)
	require.Empty(t, f.LimitName(past))
	for _, claims := range [][]engine.Claim{
		{past.Claim(f.Key("u"))},
		{f.claim("api", "u", 1), past.Claim(f.Key("u"))},
	} {
		tk := f.Admit(engine.Request{Class: engine.Read, Claims: claims})
		require.True(t, tk.OK())
		tk.Done(engine.Success)
	}
	tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("login", "u", 1), past.Claim(f.Key("u"))}})
	require.Equal(t, engine.Closed, tk.Decision().Reason)
	s := f.Snapshot()
	require.EqualValues(t, 3, s.Misuse.UnknownLimit)
	require.Zero(t, s.Faults, "no fault of weir's own")
}

// The age of a leaked ticket is counted from when it was admitted.
func TestALeaksAgeBeginsWithItsTicket(t *testing.T) {
	f := start(t, limits(inFlight("jobs", 1<<20)))
	f.clock.Advance(time.Hour)
	c := []engine.Claim{f.claim("jobs", "u", 1)}
	for range 1000 {
		tk := f.Admit(engine.Request{Class: engine.Read, Claims: c})
		require.True(t, tk.OK())
	}
	f.clock.Advance(time.Minute)
	age := f.Snapshot().Limits[0].OldestTicket
	require.GreaterOrEqual(t, age, time.Minute)
	require.Less(t, age, time.Minute+time.Second)
}

// An incident that goes on past the hour keeps its victims: whoever was shed at
// a lower level is shed at a higher one.
func TestAnIncidentKeepsItsVictimsPastTheHour(t *testing.T) {
	var l load
	f := start(t, engine.Config{Ladder: engine.Ladder{Signal: l.read}})
	l.set(2)
	shed := func(user int) bool {
		tk := f.Admit(engine.Request{Class: engine.Test, Cohort: uint64(user+1) * 0x9e3779b97f4a7c15})
		defer tk.Done(engine.Success)
		return !tk.OK()
	}
	for f.Snapshot().Ladder.Level < 0.3 {
		f.clock.Advance(100 * time.Millisecond)
	}
	level, victims := f.Snapshot().Ladder.Level, 0
	var before [300]bool
	for u := range before {
		if before[u] = shed(u); before[u] {
			victims++
		}
	}
	require.Greater(t, victims, 50)
	f.clock.StepWall(2 * time.Hour)
	now := level
	for now == level {
		f.clock.Advance(100 * time.Millisecond)
		now = f.Snapshot().Ladder.Level
	}
	require.Greater(t, now, level)
	require.Less(t, now, 0.8, "not everybody is shed")
	for u, was := range before {
		if was {
			require.True(t, shed(u), "cohort %d", u)
		}
	}
}
