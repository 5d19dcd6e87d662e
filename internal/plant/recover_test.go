package plant_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/plant"
	"github.com/weir-go/weir/ladder"
)

// A minute at three times the capacity, then 60 of 100 requests a second: the
// service is whole again. Neither a queue of dead work nor the refusals' own
// retries keep it down.
func TestAShortOverloadLeavesNothingBehind(t *testing.T) {
	s := plant.Scenario{
		Name: "short", DurationS: 1200, IncidentS: [2]float64{60, 120},
		Workers: 8, ServiceMeanMS: 80, QueueCap: 500, QueueDeadlineMS: 2000, SLOMS: 1000,
		BaseRPS: map[string]float64{"test": 6, "get": 30, "post": 15, "critical": 9},
		LoadAll: plant.Curve{Points: [][2]float64{{60, 1}, {60, 5}, {120, 5}, {120, 1}}},
		Retry:   &plant.Retry{MaxRetries: 4, BaseMS: 500, Factor: 2, CapMS: 8000, Jitter: 0.5, OnShed: true, OnTimeout: true},
		Keys:    plant.Keys{Mode: "hash", Count: 2000},
		Sensor:  plant.Sensor{Kind: "standing"},
		TickMS:  1000,
	}
	run := plant.Run{Scenario: s, Law: ladder.Default(), Seed: 3}
	r := run.Do()
	require.True(t, r.Reopened)
	require.LessOrEqual(t, r.Full, 300.0)
	require.Greater(t, r.Peak, 1.0, "there was nothing to recover from")

	run.Scenario.IncidentS = [2]float64{120 + r.Full, 1200} // the same run, counted from there on
	require.GreaterOrEqual(t, run.Do().Goodput, 100*59.0/60)
}

// The lowest class has no floor: while what is above it fills the pool, it gets
// nothing, for an hour if need be. It is back when the load is gone.
func TestTheLowestClassMayStarveAndComesBack(t *testing.T) {
	const end = 3720.0
	s := plant.Scenario{
		Name: "starve", DurationS: 4500, IncidentS: [2]float64{120, end},
		Workers: 40, ServiceMeanMS: 80, QueueCap: 500, QueueDeadlineMS: 2000, SLOMS: 1000,
		BaseRPS: map[string]float64{"test": 20, "critical": 450},
		LoadAll: plant.Curve{Points: [][2]float64{{120, 0.5}, {120, 1}, {end, 1}, {end, 0.5}}},
		Keys:    plant.Keys{Mode: "hash", Count: 2000},
		Sensor:  plant.Sensor{Kind: "standing"},
		TickMS:  1000,
	}
	r := plant.Run{Scenario: s, Law: ladder.Default(), Seed: 3}.Do()
	require.Zero(t, r.CriticalShed)
	require.GreaterOrEqual(t, r.CriticalGoodput, 99.0)
	starved := 0
	for _, p := range r.Trace {
		if p.T > 600 && p.T < end && p.Level >= 1 {
			starved++
		}
	}
	require.Greater(t, starved, 3000)
	require.LessOrEqual(t, r.Full, 300.0)
}
