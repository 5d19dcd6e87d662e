package ladder_test

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/ladder"
)

func TestStandingIsBusyPlusTheShortestQueue(t *testing.T) {
	now := time.Unix(100, 0)
	for name, c := range map[string]struct {
		samples [][3]int // busy, queued, live
		want    float64
	}{
		"half busy":                     {[][3]int{{20, 0, 40}, {20, 0, 40}}, 0.5},
		"idle is a reading":             {[][3]int{{0, 0, 40}, {20, 0, 40}}, 0.25},
		"one worker":                    {[][3]int{{1, 3, 1}}, 4.0},
		"a burst leaves no queue":       {[][3]int{{40, 200, 40}, {40, 0, 40}}, 1.0},
		"a standing queue":              {[][3]int{{40, 200, 40}, {40, 80, 40}}, 3.0},
		"in flight, no queue seen":      {[][3]int{{30, 0, 40}, {120, 0, 40}}, 0.875},
		"in flight, always beyond":      {[][3]int{{60, 0, 40}, {120, 0, 40}}, 1.5},
		"half the pool died":            {[][3]int{{20, 0, 20}, {20, 0, 20}}, 1.0},
		"throttled to half a processor": {[][3]int{{2, 0, 2}, {2, 0, 2}}, 1.0},
		"bad samples count for nothing": {[][3]int{{40, 0, 0}, {-1, 0, 40}, {1, -1, 40}, {9, 9, -3}, {10, 0, 40}}, 0.25},
	} {
		var s ladder.Standing
		for i, w := range c.samples {
			s.Sample(w[0], w[1], w[2], now.Add(time.Duration(i)))
		}
		r := s.Read()
		require.True(t, r.OK, name)
		require.InDelta(t, c.want, r.Value, 1e-9, name)
		require.Equal(t, now.Add(time.Duration(len(c.samples)-1)), r.At, name)
		require.False(t, s.Read().OK, "%s: nothing new", name)
	}
	var s ladder.Standing
	require.False(t, s.Read().OK)
	s.Sample(5, 5, 0, now)
	require.False(t, s.Read().OK)
}

func TestEachWindowStandsForItself(t *testing.T) {
	var s ladder.Standing
	s.Sample(40, 400, 40, time.Unix(1, 0))
	require.InDelta(t, 11.0, s.Read().Value, 1e-9)
	s.Sample(10, 0, 40, time.Unix(2, 0))
	require.InDelta(t, 0.25, s.Read().Value, 1e-9)
}

// Real goroutines on real processors: more work than they can do is seen, and
// seen to be gone.
func TestSchedulerLatencySeesACrowdedProcessor(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	s := ladder.NewSchedLatency()
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 24 * procs {
		wg.Go(func() {
			for x := 1; !stop.Load(); x++ {
				if x%4096 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	begin := time.Now()
	var r ladder.Reading
	for !r.OK && time.Since(begin) < 20*time.Second {
		runtime.Gosched()
		r = s.Read()
	}
	stop.Store(true)
	wg.Wait()
	require.True(t, r.OK)
	require.Positive(t, r.Value)
	require.WithinDuration(t, time.Now(), r.At, 25*time.Second)
	require.False(t, s.Read().OK, "too few events since")
}

func TestAnIdleProcessIsReadOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := ladder.NewSchedLatency()
		s.Read()
		time.Sleep(10 * time.Second)
		require.True(t, s.Read().OK, "few events in a long window are a reading")
	})
}

func fixed(r *ladder.Reading) func() ladder.Reading { return func() ladder.Reading { return *r } }

func TestTheHighestSignalDrives(t *testing.T) {
	now := time.Unix(100, 0)
	var a, b ladder.Reading
	m := ladder.Max(ladder.Source{Name: "pool", Read: fixed(&a)}, ladder.Source{Name: "cpu", Read: fixed(&b)})
	require.Equal(t, ladder.Reading{}, m.Read(), "no source has one")
	require.Empty(t, m.Driver())

	a = ladder.Reading{Value: 0.5, At: now, OK: true}
	b = ladder.Reading{Value: 0.9, At: now.Add(-3 * time.Second), OK: true}
	require.Equal(t, ladder.Reading{Value: 0.9, At: now.Add(-3 * time.Second), OK: true}, m.Read())
	require.Equal(t, "cpu", m.Driver())

	// The driver hangs: the same stamp again. The other one goes on alone.
	now = now.Add(time.Second)
	a.At = now
	require.Equal(t, ladder.Reading{Value: 0.5, At: now, OK: true}, m.Read())
	require.Equal(t, "pool", m.Driver())

	// Broken readings count for nothing.
	for _, bad := range []float64{math.NaN(), math.Inf(1), -1} {
		now = now.Add(time.Second)
		a.At, b.At, b.Value = now, now, bad
		require.Equal(t, 0.5, m.Read().Value)
	}
	a.OK = false
	require.False(t, m.Read().OK)

	// Nor does the first one hide the others.
	now = now.Add(time.Second)
	b.At, b.Value = now, 0.7
	require.Equal(t, ladder.Reading{Value: 0.7, At: now, OK: true}, m.Read())

	// Whichever is higher counts, wherever it stands, and 0 is a reading too.
	now = now.Add(time.Second)
	a, b = ladder.Reading{Value: 0.9, At: now, OK: true}, ladder.Reading{Value: 0.5, At: now, OK: true}
	require.Equal(t, 0.9, m.Read().Value)
	require.Equal(t, "pool", m.Driver())
	now = now.Add(time.Second)
	a, b = ladder.Reading{}, ladder.Reading{Value: 0, At: now, OK: true}
	require.Equal(t, ladder.Reading{Value: 0, At: now, OK: true}, m.Read())
	require.Equal(t, "cpu", m.Driver())

	// One that does not say when counts as of now, each time.
	m = ladder.Max(ladder.Source{Name: "pool", Read: func() ladder.Reading { return ladder.Reading{Value: 0.6, OK: true} }})
	for range 3 {
		r := m.Read()
		require.True(t, r.OK)
		require.WithinDuration(t, time.Now(), r.At, time.Minute)
	}
}

// A late source beside a prompt one must not look like an old reading.
func TestALateSignalThatComesInIsNew(t *testing.T) {
	var prompt, late ladder.Reading
	m := ladder.Max(ladder.Source{Name: "prompt", Read: fixed(&prompt)}, ladder.Source{Name: "late", Read: fixed(&late)})
	law := ladder.Default()
	l := ladder.New(law)
	now := time.Unix(1000, 0)
	for s := range 120 {
		now = now.Add(time.Second)
		prompt = ladder.Reading{Value: 0.5, At: now, OK: true}
		if s >= 60 {
			late = ladder.Reading{Value: 1.5, At: now.Add(-8 * time.Second), OK: true}
		}
		r := m.Read()
		require.True(t, r.At.After(l.State().At), "at %d s: %v is no news", s, r.At)
		l.Tick(now, r)
		if s == 75 {
			require.Positive(t, l.Level(), "the late signal was not heard")
		}
	}
}
