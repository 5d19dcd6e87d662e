package engine_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/gate"
	"github.com/weir-go/weir/ladder"
)

func TestClassNamesAreReadBack(t *testing.T) {
	for c := engine.Test; c <= engine.Critical; c++ {
		got, ok := engine.ParseClass(c.String())
		require.True(t, ok)
		require.Equal(t, c, got)
	}
	for _, name := range []string{"", "unset", "unknown", "CRITICAL", "4", engine.ClassUnset.String()} {
		got, ok := engine.ParseClass(name)
		require.False(t, ok, name)
		require.Equal(t, engine.ClassUnset, got)
	}
}

// A clock that is moved by hand ticks the engines that are open.
func TestAClosedEngineTicksNoMore(t *testing.T) {
	clock := engine.NewManualClock(noon)
	var reads [2]atomic.Int64
	var es [2]*engine.Engine
	for i := range es {
		es[i] = engine.Must(engine.New(engine.Config{Clock: clock, MaxEntries: 10, Ladder: engine.Ladder{
			Signal: func() ladder.Reading { reads[i].Add(1); return ladder.Reading{} },
		}}))
	}
	clock.Advance(10 * time.Second)
	require.NoError(t, es[0].Close())
	before := [2]int64{reads[0].Load(), reads[1].Load()}
	require.Positive(t, before[0])
	clock.Advance(10 * time.Second)
	require.Equal(t, before[0], reads[0].Load())
	require.Greater(t, reads[1].Load(), before[1])
	require.NoError(t, es[1].Close())
}

// Without a reading there is no age of one; without a signal the scheduler's
// latency is the signal of the real clock.
func TestWhereTheLaddersReadingComesFrom(t *testing.T) {
	f := start(t, limits())
	require.EqualValues(t, -1, f.Snapshot().Ladder.ReadingAge)
	synctest.Test(t, func(t *testing.T) {
		e := engine.Must(engine.New(engine.Config{MaxEntries: 10}))
		time.Sleep(3 * time.Second)
		s := e.Snapshot()
		require.Equal(t, "scheduler", s.Ladder.Source)
		require.Zero(t, s.Faults)
		require.NoError(t, e.Close())
	})
}

// Instances that share a secret shed the same users in the same hour, whenever
// in it the incident began, and others in the next.
func TestTheVictimsOfAnHourAreTheSameEverywhere(t *testing.T) {
	victims := func(at time.Duration, secret string) (shed [200]bool) {
		var l load
		f := startAt(t, noon.Add(at), engine.Config{Secret: []byte(secret), Ladder: engine.Ladder{Signal: l.read}})
		l.set(1.2)
		for f.Snapshot().Ladder.Level < 0.3 {
			f.clock.Advance(100 * time.Millisecond)
		}
		for i := range shed {
			tk := f.Admit(engine.Request{Class: engine.Test, Cohort: f.Key("user", strconv.Itoa(i)).P})
			shed[i] = !tk.OK()
			tk.Done(engine.Success)
		}
		return shed
	}
	const a, b = "0123456789abcdef", "fedcba9876543210"
	require.Equal(t, victims(time.Minute, a), victims(50*time.Minute, a))
	require.NotEqual(t, victims(time.Minute, a), victims(61*time.Minute, a))
	require.NotEqual(t, victims(time.Minute, a), victims(time.Minute, b))
}

// When an incident is over, so is its choice of victims: those of the next one,
// in another hour, are others.
func TestTheNextIncidentHasOtherVictims(t *testing.T) {
	var l load
	f := start(t, engine.Config{Ladder: engine.Ladder{Signal: l.read}})
	incident := func() (shed [200]bool) {
		l.set(1.2)
		for f.Snapshot().Ladder.Level < 0.3 {
			f.clock.Advance(100 * time.Millisecond)
		}
		for i := range shed {
			tk := f.Admit(engine.Request{Class: engine.Test, Cohort: f.Key("user", strconv.Itoa(i)).P})
			shed[i] = !tk.OK()
			tk.Done(engine.Success)
		}
		l.set(0.1)
		for f.Snapshot().Ladder.Level > 0 {
			f.clock.Advance(time.Second)
		}
		return shed
	}
	first := incident()
	f.clock.Advance(time.Hour)
	second := incident()
	spared, hit := 0, 0
	for i := range first {
		if first[i] && !second[i] {
			spared++
		}
		if second[i] && !first[i] {
			hit++
		}
	}
	require.Greater(t, min(spared, hit), 20, "victims of a higher level include those of a lower one only within an incident")
}

// A changed quota waits for the end of the window that it counts in, also when
// the wall clock has been set back into the one before.
func TestAChangedQuotaKeepsItsWindow(t *testing.T) {
	day := quota("day", 5, engine.Day, "", 0)
	f := startAt(t, time.Date(2025, 6, 2, 0, 10, 0, 0, time.UTC), limits(day))
	require.True(t, f.take("day", "u", 5).OK())
	f.clock.StepWall(-20 * time.Minute)
	f.clock.Advance(time.Second)
	wait := f.take("day", "u", 1).RetryAfter
	require.Equal(t, 24*time.Hour+10*time.Minute-time.Second, wait)
	day.Rate = 4
	require.NoError(t, f.swap(day))
	d := f.take("day", "u", 1)
	require.Equal(t, engine.Limited, d.Reason)
	require.Equal(t, wait, d.RetryAfter)
	require.True(t, f.take("day", "v", 4).OK())
	f.clock.Advance(15 * time.Minute) // past the midnight that was before
	require.False(t, f.take("day", "v", 1).OK(), "no window begins twice")
}

// Swaps that fail take nothing, however often, and those that succeed give back
// what they no longer need: rules do not run out.
func TestSwapsUseNoRulesUp(t *testing.T) {
	many := func(n int) (ls []engine.Limit) {
		for i := range n {
			ls = append(ls, tokens("l"+strconv.Itoa(i), 1, time.Second, 1))
		}
		return ls
	}
	f := start(t, limits(many(100)...))
	for range 3 {
		require.ErrorContains(t, f.swap(many(300)...), "engine: limit ")
		for range 5 { // whole sweeps
			f.clock.Advance(time.Minute)
		}
	}
	require.NoError(t, f.swap(many(250)...))

	f = start(t, engine.Config{MaxEntries: 1 << 12})
	costs := tokens("costs", 1, time.Second, 5)
	for i := range 600 {
		costs.PostPaid = i%2 == 0
		require.NoError(t, f.swap(costs), "swap %d", i)
		require.True(t, f.take("costs", strconv.Itoa(i), 1).OK())
		for range 4 { // whole sweeps
			f.clock.Advance(30 * time.Second)
		}
	}
}

// What a fleet hears of the gate: its capacity, learned or not, and the most
// that was inside since it last asked.
func TestWhatAFleetHearsOfTheGate(t *testing.T) {
	f, l := startShared(t, engine.Config{Gate: engine.Gate{Adaptive: &gate.AdaptiveConfig{Initial: 50}}})
	require.Equal(t, 50, l.host.GateUse().Capacity)
	for range 60 {
		var held []*engine.Ticket
		for {
			tk := f.Admit(engine.Request{Class: engine.Read})
			if !tk.OK() {
				break
			}
			held = append(held, &tk)
		}
		f.clock.Advance(100 * time.Millisecond)
		for _, tk := range held {
			tk.Done(engine.Success)
		}
	}
	require.Greater(t, l.host.GateUse().Capacity, 50)
	require.Equal(t, f.Snapshot().Gate.Capacity, l.host.GateUse().Capacity)

	f, l = startShared(t, engine.Config{Gate: engine.Gate{Capacity: 10}})
	l.host.LeaseGate(engine.GateLease{Until: int64(time.Hour), Other: 5, Fallback: 5})
	tk := f.Admit(engine.Request{Class: engine.Read})
	tk.Done(engine.Success)
	require.Equal(t, 1, l.host.GateUse().Peak)
	require.Zero(t, l.host.GateUse().Peak)
}
