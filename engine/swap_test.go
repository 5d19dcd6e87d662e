package engine_test

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// swap replaces the limits and keeps the rest.
func (f *fixture) swap(ls ...engine.Limit) error {
	return f.Swap(engine.Config{Limits: ls, Clock: f.clock, MaxEntries: 1 << 12})
}

// A smaller limit counts at once for keys that are known.
func TestSmallerLimitCountsForKnownKeys(t *testing.T) {
	f := start(t, limits(tokens("api", 100, time.Minute, 100)))
	require.True(t, f.take("api", "u", 1).OK())
	id, _ := f.Limit("api")
	require.NoError(t, f.swap(tokens("api", 10, time.Minute, 10)))
	again, ok := f.Limit("api")
	require.True(t, ok)
	require.Equal(t, id, again)
	f.clock.Advance(time.Second)
	require.LessOrEqual(t, f.left("api", "u"), int64(9))
	require.LessOrEqual(t, f.admitted("api", "u", 10), 9)
}

// However often the same rules, or others than this one, are loaded, no bucket
// is filled.
func TestReloadingFillsNoBucket(t *testing.T) {
	api := tokens("api", 1, time.Second, 5)
	f := start(t, limits(api, tokens("other", 1, time.Second, 1)))
	require.Equal(t, 5, f.admitted("api", "u", 9))
	require.NoError(t, f.swap(api, tokens("other", 1, time.Second, 1)))
	require.False(t, f.take("api", "u", 1).OK())
	require.NoError(t, f.swap(tokens("other", 7, time.Second, 3), api))
	require.False(t, f.take("api", "u", 1).OK())
	extra := 0
	for i := range 1000 {
		f.clock.Advance(time.Millisecond)
		require.NoError(t, f.swap(api, tokens("other", int64(1+i), time.Second, 1)))
		extra += f.admitted("api", "u", 1)
	}
	require.LessOrEqual(t, extra, 1)
}

// What a key owes or has left is tokens, whatever the rate becomes.
func TestChangedRateKeepsTokens(t *testing.T) {
	f := start(t, limits(tokens("api", 10, time.Second, 100)))
	require.True(t, f.take("api", "u", 100).OK())
	require.NoError(t, f.swap(tokens("api", 100, time.Second, 100)))
	require.Equal(t, 10*time.Millisecond, f.take("api", "u", 1).RetryAfter)
	f.clock.Advance(10*time.Millisecond - 1)
	require.False(t, f.take("api", "u", 1).OK())
	f.clock.Advance(1)
	require.True(t, f.take("api", "u", 1).OK())

	f.clock.Advance(time.Minute)
	require.NoError(t, f.swap(tokens("api", 1, time.Second, 10)))
	require.EqualValues(t, 10, f.left("api", "u"))
	require.Equal(t, 10, f.admitted("api", "u", 20))
	require.Equal(t, time.Second, f.take("api", "u", 1).RetryAfter)
}

// Quotas and sliding windows keep what is used in the same windows.
func TestChangedQuotaKeepsWhatIsUsed(t *testing.T) {
	day := engine.Limit{Name: "day", Kind: engine.Quota, Rate: 100, Window: engine.Day}
	slide := engine.Limit{Name: "slide", Kind: engine.Sliding, Rate: 10, Per: time.Hour}
	f := start(t, limits(day, slide))
	require.True(t, f.take("day", "u", 60).OK())
	require.True(t, f.take("slide", "u", 6).OK())
	day.Rate, slide.Rate = 70, 7
	require.NoError(t, f.swap(day, slide))
	require.EqualValues(t, 10, f.left("day", "u"))
	require.EqualValues(t, 1, f.left("slide", "u"))
	day.Zone, slide.Per = "Asia/Tokyo", 2*time.Hour // other windows
	require.NoError(t, f.swap(day, slide))
	require.EqualValues(t, 70, f.left("day", "u"))
	require.EqualValues(t, 7, f.left("slide", "u"))
}

// A limit of another kind, or in units that cannot be kept, starts afresh under
// the same handle.
func TestAnotherKindStartsAfresh(t *testing.T) {
	f := start(t, limits(tokens("api", 1, 30*24*time.Hour, 1)))
	require.Equal(t, 1, f.admitted("api", "u", 2))
	require.NoError(t, f.swap(tokens("api", 1_000_000, time.Second, 1)))
	require.True(t, f.take("api", "u", 1).OK())
	require.NoError(t, f.swap(inFlight("api", 1)))
	d := f.open("api", "u")
	require.True(t, d.OK())
	require.Equal(t, engine.Full, f.take("api", "u", 1).Reason)
	require.NoError(t, f.swap(engine.Limit{Name: "api", Kind: engine.Block}))
	require.False(t, f.take("api", "u", 1).OK())
	require.NoError(t, f.swap(engine.Limit{Name: "api", Kind: engine.Unlimited}))
	require.True(t, f.take("api", "u", 1).OK())
	d.Done(engine.Success)
}

// A removed limit passes, keeps its name, and its handle serves when it is back.
func TestRemovedLimitPasses(t *testing.T) {
	f := start(t, limits(tokens("api", 1, time.Hour, 1), tokens("other", 1, time.Hour, 9)))
	id, _ := f.Limit("api")
	c := id.Claim(f.Key("u"))
	pass := func() bool {
		tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{c}})
		return tk.OK()
	}
	require.True(t, pass())
	require.False(t, pass())
	require.NoError(t, f.swap(tokens("other", 1, time.Hour, 9)))
	_, ok := f.Limit("api")
	require.False(t, ok)
	for range 5 {
		require.True(t, pass())
	}
	require.Equal(t, "api", f.LimitName(id))
	require.Empty(t, f.LimitName(99))
	require.ErrorContains(t, f.SetMode("api", engine.Off), `"api"`)
	require.NoError(t, f.swap(tokens("api", 1, time.Hour, 1), tokens("other", 1, time.Hour, 9)))
	require.True(t, pass())
	require.False(t, pass())
	require.Zero(t, f.Snapshot().Misuse.UnknownLimit)
}

// What cannot change is named, what is wrong is listed, and the old rules stay.
func TestRefusedSwapChangesNothing(t *testing.T) {
	f := start(t, limits(tokens("api", 1, time.Hour, 1)))
	require.True(t, f.take("api", "u", 1).OK())
	bad := engine.Config{
		Limits:     []engine.Limit{watched(tokens("api", 1, time.Hour, 50))},
		MaxEntries: 5, Secret: make([]byte, 16), Clock: engine.NewManualClock(noon), PreciseClock: true,
	}
	err := f.Swap(bad)
	for _, field := range []string{"max entries", "secret", "clock", "precise clock"} {
		require.ErrorContains(t, err, "engine: "+field+": ")
	}
	bad.Limits[0].Rate = 0
	err = f.Swap(bad)
	require.ErrorContains(t, err, `limit "api": rate 0`)
	require.ErrorContains(t, err, "engine: secret: ", "everything at once")
	require.Error(t, f.swap(watched(tokens("api", 0, time.Hour, 50)), inFlight("x", -1)))
	require.False(t, f.take("api", "u", 1).OK())
	require.NoError(t, f.SetMode("all", engine.Enforce)) // puts modes in force again
	require.False(t, f.take("api", "u", 1).OK())
	_, ok := f.Limit("x")
	require.False(t, ok)
}

// Running out of table ids is an error that names the limit; nothing of that
// Swap takes effect, its modes neither, and ids come free with time.
func TestTooManyRulesAtOnce(t *testing.T) {
	many := func(n int, first engine.Limit) (ls []engine.Limit) {
		ls = append(ls, first)
		for i := 1; i < n; i++ {
			ls = append(ls, tokens("l"+strconv.Itoa(i), 1, time.Second, 1))
		}
		return ls
	}
	f := start(t, limits(many(255, tokens("api", 1, time.Hour, 1))...))
	require.True(t, f.take("api", "u", 1).OK())
	require.ErrorContains(t, f.swap(many(256, watched(tokens("api", 1, time.Hour, 1)))...), `engine: limit "l255": `)
	require.NoError(t, f.SetMode("rate", engine.Enforce))
	require.False(t, f.take("api", "u", 1).OK())
	require.Error(t, f.swap(many(255, inFlight("api", 1))...), "the old rule's words are still there")
	require.NoError(t, f.swap(many(200, tokens("api", 1, time.Hour, 1))...))
	for range 5 { // whole sweeps
		f.clock.Advance(time.Minute)
	}
	require.NoError(t, f.swap(many(255, tokens("api", 1, time.Hour, 1))...))
	require.False(t, f.take("api", "u", 1).OK(), "and all that time the first one was kept")
}

// The fleet hears of a new configuration only when it will be in force.
func TestARefusedSwapTellsTheFleetNothing(t *testing.T) {
	f, l := startShared(t, limits(shared(tokens("api", 1, time.Hour, 3))))
	many := []engine.Limit{shared(tokens("api", 1, time.Hour, 5))}
	for i := range 256 {
		many = append(many, tokens("l"+strconv.Itoa(i), 1, time.Second, 1))
	}
	cfg := engine.Config{Limits: many, MaxEntries: 1 << 12, Sync: l, Secret: fleetSecret, Clock: f.clock}
	require.ErrorContains(t, f.Swap(cfg), `engine: limit "l255": `)
	require.Equal(t, 3, f.admitted("api", "u", 5))
	cfg.Limits = many[:1]
	require.NoError(t, f.Swap(cfg))
	require.Equal(t, 2, f.admitted("api", "u", 5))
}

// A mode that was set stays through a Swap, unless the configuration's changes.
func TestSetModesStayThroughSwap(t *testing.T) {
	f := start(t, limits(tokens("api", 1, time.Hour, 1)))
	require.NoError(t, f.SetMode("api", engine.Off))
	require.NoError(t, f.SetMode("concurrency", engine.Shadow))
	require.NoError(t, f.swap(tokens("api", 2, time.Hour, 1)))
	require.Equal(t, 5, f.admitted("api", "u", 5))
	require.Equal(t, engine.Shadow, f.Snapshot().Modes["concurrency"])
	require.NoError(t, f.swap(watched(tokens("api", 2, time.Hour, 1))))
	require.Equal(t, engine.Shadow, f.Snapshot().Limits[0].Mode)
	require.NoError(t, f.swap(tokens("api", 2, time.Hour, 1)))
	require.Equal(t, engine.Enforce, f.Snapshot().Limits[0].Mode)
}

// Requests and swaps at the same time: no request is refused that both rules
// admit, and nothing is lost.
func TestSwapsWhileDeciding(t *testing.T) {
	f := start(t, limits(tokens("api", 1_000_000_000, time.Second, 1_000_000_000), inFlight("jobs", 1000)))
	var stop atomic.Bool
	var refused atomic.Int64
	var wg sync.WaitGroup
	for g := range 3 {
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				tk := f.request(engine.Read, strconv.Itoa(g*10+i%10), "api", "jobs")
				if !tk.OK() {
					refused.Add(1)
				}
				tk.Done(engine.Success)
			}
		})
	}
	for i := range int64(100) {
		require.NoError(t, f.swap(tokens("api", 1_000_000_000-i, time.Second, 1_000_000_000), inFlight("jobs", 500+i), tokens("other", 1+i, time.Second, 1)))
		f.clock.Advance(time.Millisecond)
		runtime.Gosched()
	}
	stop.Store(true)
	wg.Wait()
	require.Zero(t, refused.Load())
	require.Zero(t, f.inUse("jobs"))
	require.Zero(t, f.Snapshot().Faults)
}

// An engine leaves nothing behind: no goroutine after Close, whatever was
// swapped, and no memory.
func TestEnginesLeaveNothingBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	e := engine.Must(engine.New(limits(tokens("api", 1, time.Second, 1))))
	for i := range 1000 {
		require.NoError(t, e.Swap(limits(tokens("api", int64(i+1), time.Second, 1), tokens("other", 1, time.Second, int64(1+i%2)))))
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before+1)
	require.NoError(t, e.Close())
	require.LessOrEqual(t, runtime.NumGoroutine(), before)

	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var base uint64
	for i := range 300 {
		e := engine.Must(engine.New(engine.Config{MaxEntries: 1, Limits: []engine.Limit{tokens("api", 1, time.Second, 1)}}))
		if i%2 == 0 {
			require.NoError(t, e.Swap(engine.Config{MaxEntries: 1}))
		}
		require.NoError(t, e.Close())
		if i == 100 {
			base = heap()
		}
	}
	require.Less(t, heap(), base+1<<20)
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}
