package replay_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/cmd/loadgen/internal/replay"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

// perUser is a policy whose limits are all claimed by every request, for its
// user and at its cost.
func perUser(limits ...engine.Limit) replay.Policy {
	return replay.Policy{Config: engine.Config{Limits: limits}, Bind: func(e *engine.Engine) (policy.Binder, error) {
		return policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
			for _, l := range limits {
				id, _ := e.Limit(l.Name)
				cost := int64(1)
				if l.Kind != engine.InFlight {
					cost = a.(replay.Coster).Cost()
				}
				dst = append(dst, id.ClaimN(e.Key(a.Identity()), cost))
			}
			return engine.Request{Class: engine.Read, Claims: dst}
		}), nil
	}}
}

func tally(t *testing.T, events []replay.Event, p replay.Policy) *replay.Tally {
	t.Helper()
	s, err := replay.NewSim(events, p)
	require.NoError(t, err)
	y, err := s.Tally(p.Config)
	require.NoError(t, err)
	return y
}

var midnight = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// random is traffic over days with bursts and long gaps.
func random(n int) (events []replay.Event) {
	rng := rand.New(rand.NewPCG(7, 7))
	at := midnight
	for range n {
		switch {
		case rng.IntN(200) == 0:
			at = at.Add(time.Duration(rng.IntN(40)) * time.Hour)
		case rng.IntN(2) == 0:
			at = at.Add(time.Duration(rng.Int64N(3_000_000_000)))
		}
		events = append(events, replay.Event{At: at, User: fmt.Sprint(rng.IntN(5)), Cost: 1 + int64(rng.IntN(3)), Method: "GET"})
	}
	return events
}

// The simulated clock skips from event to event; what comes out must be what a
// bucket kept in plain arithmetic says.
func TestReplayDecidesAsAModelDoes(t *testing.T) {
	events := random(5000)
	const rate, burst = 2, 6 // per second
	model := map[string]int{}
	full := map[string]time.Time{} // when the bucket is full again
	for _, e := range events {
		at := full[e.User]
		if at.Before(e.At) {
			at = e.At
		}
		at = at.Add(time.Duration(e.Cost) * time.Second / rate)
		if at.Sub(e.At) > burst*time.Second/rate {
			model[e.User]++
		} else {
			full[e.User] = at
		}
	}
	y := tally(t, events, perUser(engine.Limit{Name: "l", Rate: rate, Per: time.Second, Burst: burst}))
	require.Equal(t, 5000, y.Requests)
	for _, u := range y.Users {
		require.Positive(t, model[u.Name])
		require.Equal(t, model[u.Name], u.Refused, "user %s", u.Name)
	}
}

func TestReplayKnowsWhoIsHitAndWhoIsNear(t *testing.T) {
	var events []replay.Event
	send := func(user string, n int) {
		for range n {
			events = append(events, replay.Event{At: midnight, User: user, Cost: 1, Method: "GET"})
		}
	}
	send("calm", 4)
	send("edge", 5)
	send("wild", 12)
	send("wilder", 20)
	y := tally(t, events, perUser(engine.Limit{Name: "l", Rate: 1, Per: time.Hour, Burst: 5}))
	require.Equal(t, map[replay.By]int{{Limit: "l", Layer: engine.Rate, Reason: engine.Limited, Class: engine.Read}: 22}, y.By)
	require.Equal(t, 2, y.Hit())
	require.Equal(t, 1, y.Near())
	require.Equal(t, []replay.User{{Name: "wilder", Requests: 20, Refused: 15, Edge: 1}}, y.Top(1))
	require.InDelta(t, 22.0/41, y.ShareRefused(), 1e-9)
	require.InDelta(t, 0.5, y.ShareHit(), 1e-9)
}

func TestDurationsFillInFlightLimits(t *testing.T) {
	at := func(s float64, d time.Duration) replay.Event {
		return replay.Event{At: midnight.Add(time.Duration(s * float64(time.Second))), User: "u", Cost: 1, Duration: d, Method: "GET"}
	}
	y := tally(t, []replay.Event{
		at(0, 10*time.Second), at(1, 2*time.Second), at(2, time.Second), // the third is refused
		at(3, time.Second),        // the second ended just now
		at(9.5, time.Millisecond), // room
		at(9.6, time.Hour), at(9.7, 0), at(10, 0),
	}, perUser(engine.Limit{Name: "f", Kind: engine.InFlight, Max: 2}))
	require.Equal(t, 2, y.Refused)
	require.Equal(t, map[replay.By]int{{Limit: "f", Layer: engine.Concurrency, Reason: engine.Full, Class: engine.Read}: 2}, y.By)
}

// A quota follows the log's own calendar.
func TestQuotasFollowTheLogsCalendar(t *testing.T) {
	var events []replay.Event
	for h := range 72 {
		events = append(events, replay.Event{At: midnight.Add(time.Duration(h) * time.Hour), User: "u", Cost: 1, Method: "GET"})
	}
	y := tally(t, events, perUser(engine.Limit{Name: "daily", Kind: engine.Quota, Rate: 10, Window: engine.Day}))
	require.Equal(t, 72-30, y.Refused)
}

func TestScaleMultipliesThresholds(t *testing.T) {
	cfg := engine.Config{Limits: []engine.Limit{
		{Name: "b", Rate: 3, Per: time.Second, Burst: 10}, {Name: "f", Kind: engine.InFlight, Max: 1}, {Name: "q", Kind: engine.Quota, Rate: 9, Window: engine.Day},
	}}
	half, twice := replay.Scale(cfg, 0.5), replay.Scale(cfg, 2)
	require.Equal(t, engine.Limit{Name: "b", Rate: 3, Per: 2 * time.Second, Burst: 5}, half.Limits[0])
	require.EqualValues(t, 1, half.Limits[1].Max, "never 0")
	require.EqualValues(t, 5, half.Limits[2].Rate)
	require.Equal(t, engine.Limit{Name: "b", Rate: 6, Per: time.Second, Burst: 20}, twice.Limits[0])
	require.EqualValues(t, 10, cfg.Limits[0].Burst, "the original is untouched")
	for k := engine.TokenBucket; k < engine.Block; k++ {
		l := engine.Limit{Kind: k, Rate: 10, Per: time.Hour, Burst: 10, Max: 10}
		require.NotEqual(t, l, replay.Scale(engine.Config{Limits: []engine.Limit{l}}, 2).Limits[0], "%v has no threshold", k)
	}
}

// What is suggested leaves the share untouched, and one less does not.
func TestSuggestionIsTheSmallest(t *testing.T) {
	events := random(3000)
	for _, l := range []engine.Limit{
		{Name: "l", Rate: 2, Per: time.Second, Burst: 1}, {Name: "l", Kind: engine.Quota, Rate: 1, Window: engine.Day}, {Name: "l", Kind: engine.Sliding, Rate: 1, Per: time.Minute},
	} {
		s, err := replay.NewSim(events, perUser(l))
		require.NoError(t, err)
		all, err := s.Suggest(0.8)
		require.NoError(t, err)
		require.Len(t, all, 1)
		best := all[0].Best
		require.Greater(t, best, int64(1), "%v", l.Kind)
		with := func(n int64) float64 {
			l := l
			if l.Kind == engine.TokenBucket {
				l.Burst = n
			} else {
				l.Rate = n
			}
			y, err := s.Tally(engine.Config{Limits: []engine.Limit{l}})
			require.NoError(t, err)
			return 1 - y.ShareHit()
		}
		require.GreaterOrEqual(t, with(best), 0.8, "%v", l.Kind)
		require.Less(t, with(best-1), 0.8, "%v", l.Kind)
	}
}

func TestSuggestSaysWhenNothingIsEnough(t *testing.T) {
	events := []replay.Event{{At: midnight, User: "u", Cost: 1 << 30, Method: "GET"}}
	s, err := replay.NewSim(events, perUser(engine.Limit{Name: "l", Rate: 1, Per: time.Second, Burst: 1}))
	require.NoError(t, err)
	all, err := s.Suggest(1)
	require.NoError(t, err)
	require.Zero(t, all[0].Best)
}

func BenchmarkReplay(b *testing.B) {
	events, _, err := replay.Read(data(b, "access-combined-10k.log"), replay.Auto, replay.Columns{})
	require.NoError(b, err)
	p := perUser(engine.Limit{Name: "l", Rate: 1, Per: time.Second, Burst: 20})
	s, err := replay.NewSim(events, p)
	require.NoError(b, err)
	for b.Loop() {
		_, err := s.Tally(p.Config)
		require.NoError(b, err)
	}
	b.ReportMetric(float64(len(events))*float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}
