package plant_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/plant"
	"github.com/weir-go/weir/ladder"
)

// randomPlant is a service and an incident of the published kinds, with other
// loads, pools, delays, noise and manners of retrying.
func randomPlant(n uint64) plant.Scenario {
	rng := rand.New(rand.NewPCG(n, 99))
	between := func(low, high float64) float64 { return low + (high-low)*rng.Float64() }
	pick := func(v ...float64) float64 { return v[rng.IntN(len(v))] }

	s := plant.Scenario{
		Name:            fmt.Sprintf("random_%d", n),
		DurationS:       1800,
		IncidentS:       [2]float64{120, 720},
		Workers:         int(pick(8, 16, 40, 100)),
		ServiceMeanMS:   pick(40, 80, 200),
		QueueDeadlineMS: pick(1000, 2000, 5000),
		SLOMS:           2000,
		Keys:            plant.Keys{Mode: "hash", Count: int(pick(200, 2000))},
		Sensor: plant.Sensor{
			Kind:    []string{"standing", "standing", "busy"}[rng.IntN(3)],
			DelayMS: pick(0, 0, 1000, 5000, 10000),
			NoiseSD: pick(0, 0.02, 0.05, 0.1),
		},
		TickMS: pick(500, 1000, 1000, 2000, 5000),
	}
	s.QueueCap = s.Workers * int(pick(5, 12))
	normal := between(0.45, 0.70)
	rps := normal * float64(s.Workers) / (s.ServiceMeanMS / 1e3)
	test, get, post := between(0.05, 0.2), between(0.3, 0.5), between(0.15, 0.25)
	s.BaseRPS = map[string]float64{
		"test": test * rps, "get": get * rps, "post": post * rps, "critical": (1 - test - get - post) * rps,
	}
	worse := between(1.1, 1.7) / normal // what the incident makes of the load
	begin, end := s.IncidentS[0], s.IncidentS[1]
	step := plant.Curve{Points: [][2]float64{{begin, 1}, {begin, worse}, {end, worse}, {end, 1}}}
	switch rng.IntN(5) {
	case 0:
		s.LoadAll = step
	case 1:
		s.ServiceMult = step
	case 2:
		s.CapacityMult = plant.Curve{Points: [][2]float64{{begin, 1}, {begin, 1 / worse}, {end, 1 / worse}, {end, 1}}}
	case 3:
		s.LoadAll = plant.Curve{Points: [][2]float64{{begin, 1}, {begin + 200, worse}, {end - 200, worse}, {end, 1}}}
	case 4:
		s.LoadAll = step
		s.Retry = &plant.Retry{MaxRetries: 1 + rng.IntN(5), BaseMS: pick(100, 500), Factor: 2, CapMS: 8000, Jitter: 0.5, OnShed: true, OnTimeout: rng.IntN(2) == 0}
	}
	if rng.IntN(4) == 0 {
		s.ColdRestore = &plant.ColdRestore{Mult: between(1.5, 4), TauS: between(30, 120)}
	}
	return s
}

// What is promised of any plant: no critical request is shed, the level settles
// and comes back.
func TestRandomPlantsAreCalmToo(t *testing.T) {
	n := 16
	if full() {
		n = 200
	}
	if raced {
		n = 1
	}
	turns, run, shut := 0, 0, 0
	for i := range n {
		s := randomPlant(uint64(i))
		require.NoError(t, s.Validate())
		for _, r := range runs(t, plant.Run{Scenario: s, Law: ladder.Default()}, uint64(i), 2) {
			require.Zero(t, r.CriticalShed, "%+v", s)
			require.LessOrEqual(t, r.Reversals, 14, "%+v", s)
			turns += r.Reversals
			run++
			if !r.Reopened {
				shut++
			}
		}
	}
	// Eight workers at 0.69 under a noisy sensor may take longer than the run.
	require.LessOrEqual(t, shut*100, run, "still shedding at the end")
	require.Less(t, float64(turns)/float64(run), 6.0, "turns in a run")
}

// A sensor that lies for two minutes in the middle of an overload.
func TestALyingSensorDoesNoLastingHarm(t *testing.T) {
	s, ok := plant.Find("S1")
	require.True(t, ok)
	const from, to = 300.0, 420.0
	var frozen ladder.Reading
	for name, lie := range map[string]func(t float64, r ladder.Reading) ladder.Reading{
		"silent":   func(float64, ladder.Reading) ladder.Reading { return ladder.Reading{} },
		"NaN":      func(_ float64, r ladder.Reading) ladder.Reading { r.Value = math.NaN(); return r },
		"negative": func(_ float64, r ladder.Reading) ladder.Reading { r.Value = -r.Value; return r },
		"zero":     func(_ float64, r ladder.Reading) ladder.Reading { r.Value = 0; return r },
		"frozen":   func(float64, ladder.Reading) ladder.Reading { return frozen },
		"huge":     func(_ float64, r ladder.Reading) ladder.Reading { r.Value = 1e300; return r },
	} {
		t.Run(name, func(t *testing.T) {
			r := plant.Run{Scenario: s, Law: ladder.Default(), Seed: 501}
			r.Tamper = func(now float64, reading ladder.Reading) ladder.Reading {
				if now < from {
					frozen = reading
				}
				if now < from || now >= to {
					return reading
				}
				return lie(now, reading)
			}
			res := r.Do()
			require.Zero(t, res.CriticalShed)
			require.LessOrEqual(t, res.Reversals, 5)
			require.True(t, res.Reopened)
			require.LessOrEqual(t, res.Full, 300.0)
			if name != "huge" {
				require.LessOrEqual(t, res.Sick, 160.0, "longer than the lie")
			}
		})
	}
}
