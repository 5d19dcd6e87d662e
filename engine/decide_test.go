package engine_test

import (
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// request asks for cost 1 of every named limit for one key.
func (f *fixture) request(class engine.Class, key string, names ...string) engine.Ticket {
	f.t.Helper()
	var claims []engine.Claim
	for _, n := range names {
		claims = append(claims, f.claim(n, key, 1))
	}
	return f.Admit(engine.Request{Class: class, Claims: claims})
}

// left is what the limit has left for the key, changing nothing.
func (f *fixture) left(limit, key string) int64 {
	f.t.Helper()
	for _, v := range f.Explain(engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim(limit, key, 1)}}) {
		if v.Name == limit {
			if v.OK() {
				return v.Remaining + 1
			}
			return v.Remaining
		}
	}
	f.t.Fatalf("limit %s does not say what is left", limit)
	return 0
}

// watched is the limit in shadow mode.
func watched(l engine.Limit) engine.Limit {
	l.Mode = engine.Shadow
	return l
}

func TestRemainingCountsDown(t *testing.T) {
	f := start(t, limits(tokens("api", 1, time.Hour, 3)))
	for _, want := range []int64{2, 1, 0} {
		d := f.take("api", "u", 1)
		require.Equal(t, engine.Decision{Limit: 1, Remaining: want}, d)
	}
	for range 2 {
		require.Equal(t, engine.Decision{Reason: engine.Limited, Layer: engine.Rate, Limit: 1, RetryAfter: time.Hour}, f.take("api", "u", 1))
	}
}

// On the real clock the first answers count down as well, though the published
// time is a little old.
func TestRemainingCountsDownOnTheRealClock(t *testing.T) {
	e := engine.Must(engine.New(limits(tokens("api", 1, time.Hour, 3))))
	defer e.Close()
	for k := range 50 {
		for want := int64(2); want >= 0; want-- {
			tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{engine.LimitID(1).Claim(e.Key("user", string(rune('a'+k))))}})
			require.Equal(t, want, tk.Decision().Remaining)
			tk.Done(engine.Success)
		}
	}
}

func TestCostZeroIsFreeAndCreatesNothing(t *testing.T) {
	f := start(t, limits(tokens("api", 1, time.Second, 5), inFlight("jobs", 1)))
	require.True(t, f.take("api", "u", 5).OK())
	require.True(t, f.take("api", "u", 0).OK(), "also when nothing is left")
	require.True(t, f.take("api", "new", 0).OK())
	require.True(t, f.take("jobs", "new", 0).OK())
	f.clock.Advance(3 * time.Minute)
	require.Zero(t, f.Snapshot().Table.Entries)
}

// A negative cost mints nothing, wherever it is claimed.
func TestNegativeCostNeverFits(t *testing.T) {
	f := start(t, limits(tokens("api", 1, time.Second, 5), inFlight("jobs", 2), watched(tokens("watched", 1, time.Hour, 5))))
	require.True(t, f.take("api", "u", 5).OK())
	for _, cost := range []int64{-1, -5, math.MinInt64} {
		d := f.take("api", "u", cost)
		require.Equal(t, engine.Decision{Reason: engine.NeverFits, Layer: engine.Rate, Limit: 1, RetryAfter: -1}, d)
		require.Equal(t, engine.NeverFits, f.take("jobs", "u", cost).Reason)
		require.True(t, f.take("watched", "u", cost).OK(), "a watching limit refuses nothing")
	}
	require.Equal(t, engine.Limited, f.take("api", "u", 1).Reason)
	require.EqualValues(t, 2, f.left("jobs", "u"))
	require.EqualValues(t, 5, f.left("watched", "u"))
	require.EqualValues(t, 9, f.Snapshot().Misuse.Negative)
}

func TestCostAboveTheLimitNeverFits(t *testing.T) {
	f := start(t, limits(tokens("api", 1, time.Second, 10), inFlight("jobs", 2),
		engine.Limit{Name: "day", Kind: engine.Quota, Rate: 9, Window: engine.Day},
		engine.Limit{Name: "slide", Kind: engine.Sliding, Rate: 5, Per: time.Minute}))
	for name, max := range map[string]int64{"api": 10, "jobs": 2, "day": 9, "slide": 5} {
		for _, cost := range []int64{max + 1, math.MaxInt64 - 1, math.MaxInt64} {
			d := f.take(name, "u", cost)
			require.Equal(t, engine.NeverFits, d.Reason, "%s %d", name, cost)
			require.EqualValues(t, -1, d.RetryAfter)
		}
		require.True(t, f.take(name, "u", max).OK(), "the whole of it fits")
	}
	d := f.take("api", "u", 10)
	require.Equal(t, 10*time.Second, d.RetryAfter, "cost equal to the burst can be retried")
	f.clock.Advance(10*time.Second - 1)
	require.EqualValues(t, 1, f.take("api", "u", 10).RetryAfter)
	f.clock.Advance(1)
	require.True(t, f.take("api", "u", 10).OK())
}

func TestBlockAndUnlimited(t *testing.T) {
	f := start(t, limits(engine.Limit{Name: "shut", Kind: engine.Block}, engine.Limit{Name: "open", Kind: engine.Unlimited}))
	for range 20 {
		require.Equal(t, engine.Decision{Reason: engine.Limited, Layer: engine.Rate, Limit: 1, RetryAfter: -1}, f.take("shut", "u", 1))
		require.Equal(t, engine.Decision{Remaining: -1}, f.take("open", "u", 1))
		require.True(t, f.take("open", "u", math.MaxInt64).OK())
	}
	f.clock.Advance(3 * time.Minute)
	require.Zero(t, f.Snapshot().Table.Entries)
}

// A key over its own limit hears so even while the process is full, a full
// process rather than nothing; each refusal names its layer and its limit.
func TestReasonsHaveAnOrder(t *testing.T) {
	shed := load{}
	f := start(t, engine.Config{
		Limits: []engine.Limit{tokens("rate2", 1, time.Hour, 1), inFlight("jobs", 1)},
		Gate:   engine.Gate{Capacity: 2, Reserve: 0.5, RetryAfter: 3 * time.Second},
		Ladder: engine.Ladder{Signal: shed.read, RetryAfter: 7 * time.Second},
	})
	hold := f.request(engine.Read, "u", "rate2", "jobs")
	require.True(t, hold.OK())
	shed.set(3)
	f.clock.Advance(time.Minute)

	d := func(class engine.Class, key string, names ...string) engine.Decision {
		tk := f.request(class, key, names...)
		return tk.Decision()
	}
	require.Equal(t, engine.Decision{Reason: engine.Limited, Layer: engine.Rate, Limit: 1, RetryAfter: 59 * time.Minute}, d(engine.Read, "u", "rate2", "jobs"), "the longest wait gates")
	require.Equal(t, engine.Decision{Reason: engine.Full, Layer: engine.Concurrency, Limit: 2, RetryAfter: time.Second}, d(engine.Read, "u", "jobs"))
	require.Equal(t, engine.Decision{Reason: engine.Shed, Layer: engine.Worker, RetryAfter: 7 * time.Second}, d(engine.Read, "v", "rate2", "jobs"))
	require.Equal(t, engine.Decision{Reason: engine.Shed, Layer: engine.Worker, RetryAfter: 7 * time.Second}, d(engine.Test, "v"))
	require.NoError(t, f.SetMode("worker", engine.Off))
	require.Equal(t, engine.Decision{Reason: engine.Reserved, Layer: engine.Fleet, RetryAfter: 3 * time.Second}, d(engine.Read, "v", "rate2", "jobs"))
	require.True(t, d(engine.Critical, "v", "rate2").OK())
	require.Equal(t, engine.Limited, d(engine.Critical, "v", "rate2").Reason)

	s := f.Snapshot()
	require.EqualValues(t, 1, s.Limits[0].Refused[engine.Read][engine.Limited])
	require.EqualValues(t, 1, s.Limits[0].Refused[engine.Critical][engine.Limited])
	require.EqualValues(t, 1, s.Limits[1].Refused[engine.Read][engine.Full])
	require.EqualValues(t, 1, s.Ladder.Refused[engine.Read])
	require.EqualValues(t, 1, s.Ladder.Refused[engine.Test])
	require.EqualValues(t, 1, s.Gate.Refused[engine.Read])
	require.EqualValues(t, 1, s.Admitted[engine.Read])
	require.EqualValues(t, 1, s.Admitted[engine.Critical])
	hold.Done(engine.Success)
}

// A request that one limit refuses charges no other, wherever it stands.
func TestRefusedRequestsChargeNothing(t *testing.T) {
	f := start(t, limits(tokens("short", 10, time.Minute, 10), tokens("long", 30, 30*time.Minute, 30), inFlight("jobs", 5)))
	ok := 0
	for range 31 {
		tk := f.request(engine.Read, "u", "long", "short", "jobs")
		if tk.OK() {
			ok++
		}
		tk.Done(engine.Success)
	}
	require.Equal(t, 10, ok)
	require.EqualValues(t, 20, f.left("long", "u"))
	require.EqualValues(t, 5, f.left("jobs", "u"))
	f.clock.Advance(time.Minute)
	for range 10 {
		tk := f.request(engine.Read, "u", "short", "long")
		require.True(t, tk.OK())
	}
}

// One client, refused by its own limit, does not burn what all share.
func TestOwnLimitProtectsTheSharedOne(t *testing.T) {
	f := start(t, limits(tokens("user", 1, time.Hour, 1), tokens("global", 10, time.Hour, 10)))
	ask := func(user string) engine.Decision {
		tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("user", user, 1), f.claim("global", "", 1)}})
		return tk.Decision()
	}
	admitted := 0
	for range 20 {
		if ask("a").OK() {
			admitted++
		}
	}
	require.Equal(t, 1, admitted)
	require.EqualValues(t, 9, f.left("global", ""))
	require.True(t, ask("b").OK())
}

// The refusal names the limit that really gates, and its wait.
func TestLongestWaitGates(t *testing.T) {
	f := start(t, limits(tokens("hourly", 4, time.Hour, 4), engine.Limit{Name: "daily", Kind: engine.Quota, Rate: 5, Window: engine.Day}))
	for range 4 {
		tk := f.request(engine.Read, "u", "hourly", "daily")
		require.True(t, tk.OK())
	}
	tk := f.request(engine.Read, "u", "hourly", "daily")
	require.Equal(t, engine.Decision{Reason: engine.Limited, Layer: engine.Rate, Limit: 1, RetryAfter: 15 * time.Minute}, tk.Decision())

	require.True(t, f.take("daily", "u", 1).OK())
	for _, order := range [][]string{{"hourly", "daily"}, {"daily", "hourly"}} {
		tk = f.request(engine.Read, "u", order...)
		require.Equal(t, engine.Decision{Reason: engine.Limited, Layer: engine.Rate, Limit: 2, RetryAfter: 12 * time.Hour}, tk.Decision(), "it is noon")
	}
	f.clock.Advance(45 * time.Minute)
	tk = f.request(engine.Read, "u", "hourly", "daily")
	require.EqualValues(t, 2, tk.Decision().Limit)
	require.EqualValues(t, 3, f.left("hourly", "u"))
	never := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("daily", "u", 1), f.claim("hourly", "u", 99)}})
	require.Equal(t, engine.NeverFits, never.Decision().Reason, "waiting for the day does not help")
}

// Broken requests are answered by the strictest fail policy of what they claim,
// and counted.
func TestBrokenRequests(t *testing.T) {
	login := tokens("login", 1, time.Hour, 5)
	login.Fail = engine.FailClosed
	f := start(t, limits(tokens("api", 1, time.Hour, 5), login))
	api, log := f.claim("api", "u", 1), f.claim("login", "u", 1)
	admit := func(claims ...engine.Claim) engine.Decision {
		tk := f.Admit(engine.Request{Class: engine.Read, Claims: claims})
		d := tk.Decision()
		tk.Done(engine.Success)
		return d
	}
	open := engine.Decision{Remaining: -1}
	closed := engine.Decision{Reason: engine.Closed, Layer: engine.Rate, Limit: 2, RetryAfter: time.Second}

	require.Equal(t, open, admit(engine.Claim{Limit: 0, Key: api.Key, Cost: 1}))
	require.Equal(t, open, admit(api, engine.Claim{Limit: 77, Key: api.Key, Cost: 1}))
	require.Equal(t, closed, admit(engine.Claim{Limit: 77, Key: api.Key, Cost: 1}, log))
	require.Equal(t, open, admit(api, api))
	require.Equal(t, closed, admit(log, log))
	nine := make([]engine.Claim, 9)
	for i := range nine {
		nine[i] = engine.LimitID(i + 1).Claim(api.Key)
	}
	require.Equal(t, closed, admit(nine...))
	for range 5 { // nothing of all this was charged
		require.True(t, admit(api).OK())
		require.True(t, admit(log).OK())
	}
	m := f.Snapshot().Misuse
	require.Equal(t, [3]uint64{3, 1, 2}, [3]uint64{m.UnknownLimit, m.TooMany, m.Twice})
}

// A request without a class, or with one that is none, counts as the default.
func TestUnclassifiedRequestsCountAsTheDefault(t *testing.T) {
	for _, c := range []struct{ config, counts engine.Class }{{engine.ClassUnset, engine.Read}, {engine.Critical, engine.Critical}} {
		f := start(t, engine.Config{Limits: []engine.Limit{tokens("api", 1, time.Hour, 100)}, Default: c.config})
		for _, class := range []engine.Class{engine.ClassUnset, engine.Critical + 1, 255} {
			tk := f.request(class, "u", "api")
			require.True(t, tk.OK())
		}
		s := f.Snapshot()
		require.EqualValues(t, 3, s.Admitted[c.counts])
		require.EqualValues(t, 3, s.Unclassified)
	}
}

// However many ask at once, what remains is told to each as of its own charge.
func TestRemainingIsToldOnceEach(t *testing.T) {
	f := start(t, limits(tokens("api", 1, time.Hour, 3)))
	id, _ := f.Limit("api")
	for round := range 30 {
		k := f.Key("user", strconv.Itoa(round))
		var seen [3]atomic.Int64
		var refused atomic.Int64
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(k)}})
				if tk.OK() {
					seen[tk.Decision().Remaining].Add(1)
				} else if tk.Decision().Remaining == 0 {
					refused.Add(1)
				}
			})
		}
		wg.Wait()
		require.Equal(t, [4]int64{1, 1, 1, 61}, [4]int64{seen[0].Load(), seen[1].Load(), seen[2].Load(), refused.Load()})
	}
}

// A thousand first requests of a new key, at the same moment: one bucket.
func TestFirstRequestsOfANewKeyHaveOneBucket(t *testing.T) {
	f := start(t, limits(tokens("api", 1, time.Hour, 1)))
	id, _ := f.Limit("api")
	for round := range 20 {
		k := f.Key("user", strconv.Itoa(round))
		var ok atomic.Int64
		begin := make(chan struct{})
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				<-begin
				tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(k)}})
				if tk.OK() {
					ok.Add(1)
				}
			})
		}
		close(begin)
		wg.Wait()
		require.EqualValues(t, 1, ok.Load())
	}
}
