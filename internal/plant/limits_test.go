package plant_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/plant"
	"github.com/weir-go/weir/ladder"
)

// full reports whether every seed is asked for; see the Makefile.
func full() bool { return os.Getenv("WEIR_LADDER_FULL") != "" }

func seedCount() int {
	if full() {
		return 100
	}
	return seeds
}

func runs(t *testing.T, r plant.Run, first uint64, n int) []plant.Result {
	t.Helper()
	results, err := plant.All(t.Context(), plant.Seeds(r, first, n))
	require.NoError(t, err)
	return results
}

// eachScenario runs f for the published scenarios and their limits.
func eachScenario(t *testing.T, f func(t *testing.T, s plant.Scenario, l plant.Limit)) {
	for _, s := range plant.Scenarios() {
		if raced && s.Name != "S5_retrystorm" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			l, ok := plant.LimitOf(s.Name)
			require.True(t, ok)
			f(t, s, l)
		})
	}
}

func TestDampedLawMeetsEveryLimit(t *testing.T) {
	eachScenario(t, func(t *testing.T, s plant.Scenario, l plant.Limit) {
		results := runs(t, plant.Run{Scenario: s, Law: ladder.Default()}, 501, seedCount())
		require.Empty(t, l.Judge(results))
	})
}

func TestCriticalIsNotShedEvenWithoutTheCap(t *testing.T) {
	law := ladder.Default()
	law.Max = ladder.Tiers
	eachScenario(t, func(t *testing.T, s plant.Scenario, l plant.Limit) {
		for _, r := range runs(t, plant.Run{Scenario: s, Law: law}, 1501, max(1, seedCount()/4)) {
			require.Zero(t, r.CriticalShed, "seed %d", r.Seed)
		}
	})
}

func TestFlapModeFailsEveryLimit(t *testing.T) {
	eachScenario(t, func(t *testing.T, s plant.Scenario, l plant.Limit) {
		const n = 2
		flap := runs(t, plant.Run{Scenario: s, Law: ladder.Flap()}, 501, n)
		damped := runs(t, plant.Run{Scenario: s, Law: ladder.Default()}, 501, n)
		require.NotEmpty(t, l.Judge(flap))
		for i, f := range flap {
			d := damped[i]
			require.GreaterOrEqual(t, f.Reversals, 20)
			switch s.Name {
			case "S4_caploss50":
				require.False(t, f.Reopened)
			case "S5_retrystorm":
				require.GreaterOrEqual(t, d.Goodput-f.Goodput, 8.0)
			case "S8_delaynoise":
				require.GreaterOrEqual(t, d.CriticalGoodput-f.CriticalGoodput, 8.0)
			case "S9_coldflap":
				require.LessOrEqual(t, f.Goodput, 40.0)
				require.False(t, f.Reopened)
			}
		}
	})
}

func TestOtherSignalsMeetTheirLimits(t *testing.T) {
	eachScenario(t, func(t *testing.T, s plant.Scenario, l plant.Limit) {
		for kind, limit := range map[string]plant.Limit{"inflight": l, "busy": l.Relaxed()} {
			s.Sensor.Kind = kind
			limit.MedianReversals += 2 // one swing more: that column is for the standing queue
			results := runs(t, plant.Run{Scenario: s, Law: ladder.Default()}, 501, max(1, seedCount()/5))
			require.Empty(t, limit.Judge(results), kind)
		}
	})
}

// The incident five times as fast is what runs on a real server; it must mean
// something in virtual time first.
func TestCompressedIncidentKeepsItsShape(t *testing.T) {
	eachScenario(t, func(t *testing.T, s plant.Scenario, l plant.Limit) {
		most := 8
		if s.Name == "S7_sine" {
			most = 14
		}
		quick, law := plant.Compress(s, ladder.Default(), 5)
		for _, r := range runs(t, plant.Run{Scenario: quick, Law: law}, 3501, seedCount()) {
			require.LessOrEqual(t, r.Reversals, most, "seed %d", r.Seed)
			require.Zero(t, r.CriticalShed)
			require.GreaterOrEqual(t, r.CriticalGoodput, 95.0, "seed %d", r.Seed)
		}
		quick, law = plant.Compress(s, ladder.Flap(), 5)
		for _, r := range runs(t, plant.Run{Scenario: quick, Law: law}, 3501, 2) {
			require.Greater(t, r.Reversals, 20, "seed %d", r.Seed)
		}
	})
}
