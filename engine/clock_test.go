package engine_test

import (
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// The published time may be late by D; then, at one instant, a key is granted
// its burst and min(burst, rate*D) more, as documented, and with a precise clock
// its burst alone. Nothing is ever refused that the true time admits.
func TestLatePublishedTimeGrantsItsBoundAndNoMore(t *testing.T) {
	for _, c := range []struct {
		late  time.Duration
		extra int
	}{{0, 0}, {time.Millisecond, 1}, {7 * time.Millisecond, 7}, {20 * time.Millisecond, 20}, {time.Second, 20}} {
		for _, precise := range []bool{false, true} {
			f := start(t, engine.Config{Limits: []engine.Limit{tokens("api", 1000, time.Second, 20)}, PreciseClock: precise})
			require.True(t, f.take("api", "u", 1).OK()) // known from here on
			f.clock.Advance(time.Millisecond)           // and full again
			f.clock.Drift(c.late)
			want := 20
			if !precise {
				want += c.extra
			}
			require.Equal(t, want, f.admitted("api", "u", 100), "late by %v, precise %v", c.late, precise)
			require.Equal(t, 20, f.admitted("api", "new", 100), "a new key is born at the true time")
			f.clock.Drift(time.Millisecond)
			require.Equal(t, 1, f.admitted("api", "u", 100))
		}
	}
}

// A refusal is never decided on the published time.
func TestStarvedTickerRefusesNothingFalsely(t *testing.T) {
	f := start(t, limits(tokens("api", 100, time.Second, 1), tokens("other", 100, time.Second, 1)))
	require.True(t, f.take("api", "u", 1).OK())
	f.clock.Drift(20 * time.Millisecond)
	require.True(t, f.take("api", "u", 1).OK())
	f.clock.Drift(10*time.Millisecond - 1)
	require.EqualValues(t, 1, f.take("api", "u", 1).RetryAfter)
	f.clock.Drift(1)
	tk := f.request(engine.Read, "u", "other", "api")
	require.True(t, tk.OK())
	for range 500 { // half a second of a starved ticker
		f.clock.Drift(10 * time.Millisecond)
		require.True(t, f.take("api", "u", 1).OK())
		require.False(t, f.take("api", "u", 1).OK())
	}
}

// odd is a clock of the caller's own.
type odd struct{ now *time.Duration }

func (o odd) Now() time.Duration { return *o.now }
func (o odd) Wall() time.Time    { return noon.Add(*o.now) }

// A clock may start anywhere, before zero too.
func TestClocksMayStartAnywhere(t *testing.T) {
	for _, begin := range []time.Duration{0, -5 * time.Second, 1 << 61, -1 << 61} {
		now := begin
		e := engine.Must(engine.New(engine.Config{
			Limits: []engine.Limit{tokens("api", 1, time.Second, 1)}, Clock: odd{&now}, PreciseClock: true, MaxEntries: 16,
			Ladder: engine.Ladder{Mode: engine.Off},
		}))
		take := func() bool {
			tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{engine.LimitID(1).Claim(e.Key("u"))}})
			return tk.OK()
		}
		require.True(t, take())
		require.False(t, take())
		require.NoError(t, e.Close())
	}
}

// set is a clock of the caller's own that can be moved while the engine runs.
type set struct{ now atomic.Int64 }

func (s *set) Now() time.Duration { return time.Duration(s.now.Load()) }
func (s *set) Wall() time.Time    { return noon.Add(s.Now()) }

// Wherever a clock of one's own starts, waits are from there on.
func TestAClockThatStartsAnywhereCountsFromThere(t *testing.T) {
	for _, begin := range []time.Duration{-5 * time.Second, 100 * time.Hour} {
		c := &set{}
		c.now.Store(int64(begin))
		e := engine.Must(engine.New(engine.Config{
			Limits: []engine.Limit{tokens("api", 1, time.Second, 1)}, Clock: c, MaxEntries: 16, Ladder: engine.Ladder{Mode: engine.Off},
		}))
		take := func() engine.Decision {
			tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{engine.LimitID(1).Claim(e.Key("u"))}})
			tk.Done(engine.Success)
			return tk.Decision()
		}
		require.True(t, take().OK())
		require.Equal(t, time.Second, take().RetryAfter, "from %v", begin)
		for range 10 {
			c.now.Add(int64(time.Second))
			require.True(t, take().OK(), "from %v", begin)
			require.Equal(t, time.Second, take().RetryAfter)
		}
		require.NoError(t, e.Close())
	}
}

// Thirty years of uptime: every kind is right all along.
func TestThirtyYears(t *testing.T) {
	f := start(t, limits(
		tokens("fast", 65535, time.Second, 65535), tokens("slow", 1, 30*24*time.Hour, 1), inFlight("jobs", 1),
		quota("month", 5, engine.Month, "Europe/Berlin", 0),
		engine.Limit{Name: "slide", Kind: engine.Sliding, Rate: 3, Per: time.Hour},
	))
	held := f.open("jobs", "u")
	for range 120 {
		require.True(t, f.take("fast", "u", 65535).OK())
		require.False(t, f.take("fast", "u", 100).OK())
		require.True(t, f.take("slow", "u", 1).OK())
		require.False(t, f.take("slow", "u", 1).OK())
		require.True(t, f.take("month", "u", 5).OK())
		require.False(t, f.take("month", "u", 1).OK())
		require.Equal(t, 3, f.admitted("slide", "u", 9))
		require.Equal(t, engine.Full, f.take("jobs", "u", 1).Reason)
		f.clock.Advance(92 * 24 * time.Hour)
	}
	held.Done(engine.Success)
	require.True(t, f.take("jobs", "u", 1).OK())
}

// Calendar quotas follow the real clock, in a bubble of testing/synctest too.
func TestQuotaInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engine.Must(engine.New(engine.Config{
			Limits: []engine.Limit{quota("calls", 1, engine.Minute, "", 0)}, Ladder: engine.Ladder{Mode: engine.Off}, MaxEntries: 1000,
		}))
		take := func() engine.Decision {
			tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{engine.LimitID(1).Claim(e.Key("u"))}})
			return tk.Decision()
		}
		time.Sleep(50 * time.Second)
		require.True(t, take().OK())
		require.Equal(t, 10*time.Second, take().RetryAfter, "a bubble begins at midnight")
		time.Sleep(10 * time.Second)
		require.True(t, take().OK())
		require.NoError(t, e.Close())
	})
}

// A clock that is moved by hand does not go back.
func TestManualClockOnlyMovesForward(t *testing.T) {
	c := engine.NewManualClock(noon)
	c.Advance(-time.Second)
	c.Drift(-time.Second)
	require.Zero(t, c.Now())
	require.Equal(t, noon, c.Wall())
	c.Advance(time.Second)
	c.Drift(time.Second)
	c.StepWall(-time.Hour)
	require.Equal(t, 2*time.Second, c.Now())
	require.Equal(t, noon.Add(2*time.Second-time.Hour), c.Wall())
	c.Drift(math.MaxInt64)
	require.EqualValues(t, int64(math.MaxInt64), c.Now(), "and no further than it can count")
	c.Advance(math.MaxInt64)
	require.EqualValues(t, int64(math.MaxInt64), c.Now())
}

// A clock that nobody made is one at the zero time.
func TestTheZeroManualClockRuns(t *testing.T) {
	var c engine.ManualClock
	e := engine.Must(engine.New(engine.Config{Clock: &c, Limits: []engine.Limit{tokens("api", 1, time.Second, 1)}}))
	defer func() { require.NoError(t, e.Close()) }()
	f := &fixture{e, t, &c}
	require.Equal(t, 1, f.admitted("api", "u", 2))
	c.Advance(time.Second)
	require.Equal(t, 1, f.admitted("api", "u", 2))
	require.Equal(t, time.Time{}.Add(time.Second), c.Wall())
}

// A refusal that finds the published time more than a tick late publishes the
// true one, so that what others decide on is not later than a tick after it.
func TestRefusalsPublishALateTime(t *testing.T) {
	f := start(t, limits(tokens("api", 1000, time.Second, 20), tokens("spent", 1, time.Hour, 1)))
	require.True(t, f.take("spent", "v", 1).OK())
	require.True(t, f.take("api", "u", 1).OK())
	f.clock.Advance(time.Millisecond)
	f.clock.Drift(20 * time.Millisecond)
	require.False(t, f.take("spent", "v", 1).OK())
	require.Equal(t, 20, f.admitted("api", "u", 100), "nothing extra: the time is no longer late")

	// So does one of a limit that is shared.
	f, _ = startShared(t, limits(tokens("api", 1000, time.Second, 20), shared(tokens("spent", 1, time.Hour, 1))))
	require.True(t, f.take("spent", "v", 1).OK())
	require.True(t, f.take("api", "u", 1).OK())
	f.clock.Advance(time.Millisecond)
	f.clock.Drift(20 * time.Millisecond)
	require.False(t, f.take("spent", "v", 1).OK())
	require.Equal(t, 20, f.admitted("api", "u", 100))
}
