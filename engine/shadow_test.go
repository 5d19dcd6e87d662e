package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// What a watching limit would refuse holds nothing of it, so its end gives
// nothing back that others hold.
func TestTheEndOfAWatchedRequestGivesNothingOfOthersBack(t *testing.T) {
	f := start(t, limits(watched(inFlight("jobs", 2)), tokens("api", 1, time.Hour, 99)))
	holds := []*engine.Ticket{f.open("jobs", "u"), f.open("jobs", "u")}
	for range 5 {
		for _, names := range [][]string{{"jobs"}, {"jobs", "api"}} {
			tk := f.request(engine.Read, "u", names...)
			require.True(t, tk.OK())
			tk.Done(engine.Success)
			require.EqualValues(t, 2, f.inUse("jobs"))
		}
	}
	require.EqualValues(t, 10, f.Snapshot().Limits[0].WouldRefuse[engine.Read][engine.Full])
	for _, tk := range holds {
		tk.Done(engine.Success)
	}
	require.Zero(t, f.inUse("jobs"))
}

// A request that a layer refuses counts at a watching limit if that would have
// refused it as well, and only then; it charges none.
func TestWatchingLimitsOfARequestThatALayerRefuses(t *testing.T) {
	for name, layer := range map[string]engine.Config{
		"gate":   {Gate: engine.Gate{Capacity: 1, Reserve: 1}},
		"ladder": {},
	} {
		t.Run(name, func(t *testing.T) {
			var l load
			layer.Limits = []engine.Limit{watched(tokens("spent", 1, time.Hour, 1)), watched(tokens("free", 1, time.Hour, 9)), tokens("enforced", 1, time.Hour, 9)}
			layer.Ladder = engine.Ladder{Signal: l.read}
			f := start(t, layer)
			tk := f.request(engine.Critical, "u", "spent")
			require.True(t, tk.OK())
			l.set(3)
			f.clock.Advance(2 * time.Minute)
			if name == "gate" {
				require.NoError(t, f.SetMode("worker", engine.Off))
			}
			for n := range 3 {
				tk := f.request(engine.Read, "u", "free", "spent", "enforced")
				require.Contains(t, []engine.Reason{engine.Reserved, engine.Shed}, tk.Decision().Reason)
				s := f.Snapshot()
				require.EqualValues(t, n+1, s.Limits[0].WouldRefuse[engine.Read][engine.Limited])
				require.Zero(t, s.Limits[1].WouldRefuse)
				require.Zero(t, s.Limits[2].WouldRefuse)
				require.Zero(t, s.Limits[2].Refused)
			}
			require.EqualValues(t, 9, f.left("free", "u"))
			require.EqualValues(t, 9, f.left("enforced", "u"))
		})
	}
}
