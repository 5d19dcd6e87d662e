package plant_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/plant"
	"github.com/weir-go/weir/ladder"
)

// never is a law that sheds nothing.
func never() ladder.Config {
	c := ladder.Default()
	c.Max = 0
	return c
}

// One class, one plain overload: figures that can be reckoned by hand.
func simple(workers int, meanMS, rps, duration float64) plant.Scenario {
	return plant.Scenario{
		Name: "simple", DurationS: duration, IncidentS: [2]float64{10, duration},
		Workers: workers, ServiceMeanMS: meanMS, QueueCap: 1 << 20, QueueDeadlineMS: 1e6, SLOMS: 1e6,
		BaseRPS: map[string]float64{"critical": rps},
		Keys:    plant.Keys{Mode: "hash", Count: 100},
		Sensor:  plant.Sensor{Kind: "busy"},
		TickMS:  1000,
	}
}

// How long requests of M/M/c take is known exactly; a simulator that rounds
// service times or starts them late misses it.
func TestQueueMatchesTheory(t *testing.T) {
	s := simple(4, 80, 40, 4000)
	r := plant.Run{Scenario: s, Law: never(), Seed: 1}.Do()
	sum := 0.0
	for _, p := range r.Trace {
		sum += p.Signal
	}
	require.InDelta(t, 0.8, sum/float64(len(r.Trace)), 0.01)

	s.SLOMS = 160
	r = plant.Run{Scenario: s, Law: never(), Seed: 1}.Do()
	require.InDelta(t, 100*sojournWithin(4, 12.5, 40, 0.160), r.Goodput, 1.0)
}

func TestCapacityIsWhatThePoolCanDo(t *testing.T) {
	s := simple(40, 80, 1000, 200) // twice the capacity of 500
	s.QueueCap, s.SLOMS = 40, 1e6
	r := plant.Run{Scenario: s, Law: never(), Seed: 1}.Do()
	require.InDelta(t, 50.0, r.Goodput, 1.0)
}

func TestCurves(t *testing.T) {
	at := func(c plant.Curve, when, want float64) {
		t.Helper()
		require.InDelta(t, want, c.At(when), 1e-9, "at %v", when)
	}
	at(plant.Curve{}, 5, 1)
	step := plant.Curve{Points: [][2]float64{{10, 1}, {10, 2}, {20, 4}, {20, 1}}}
	at(step, 0, 1)
	at(step, 9.999, 1)
	at(step, 10, 2)
	at(step, 15, 3)
	at(step, 20, 1)
	at(step, 1000, 1)
	wave := plant.Curve{Sine: &plant.Sine{Mean: 1.4, Amp: 0.6, PeriodS: 300, T0S: 120, T1S: 1920}}
	at(wave, 119, 1)
	at(wave, 120, 1.4)
	at(wave, 195, 2.0)
	at(wave, 345, 0.8)
	at(wave, 1920, 1)
}

func TestCompressDividesTimeOnly(t *testing.T) {
	s, ok := plant.Find("S5")
	require.True(t, ok)
	q, law := plant.Compress(s, ladder.Default(), 5)
	require.Equal(t, 264.0, q.DurationS)
	require.Equal(t, [2]float64{24, 84}, q.IncidentS)
	require.Equal(t, 200.0, q.TickMS)
	require.Equal(t, 100.0, q.Retry.BaseMS)
	require.Equal(t, 100, q.QueueCap)
	require.Equal(t, s.ServiceMeanMS, q.ServiceMeanMS)
	require.Equal(t, s.BaseRPS, q.BaseRPS)
	require.Equal(t, 1.8, q.LoadAll.At(24))
	require.Equal(t, 4*time.Second, law.Hold)
	require.Equal(t, 500.0, s.Retry.BaseMS, "the original is as it was")
	require.Equal(t, 1.0, s.LoadAll.At(24))
}

func TestASeedGivesTheSameRunAndControllersMeetTheSameClients(t *testing.T) {
	s, ok := plant.Find("S9")
	require.True(t, ok)
	s.DurationS, s.IncidentS[1] = 300, 250
	run := plant.Run{Scenario: s, Law: ladder.Default(), Seed: 7}
	require.Equal(t, run.Do(), run.Do())

	// First attempts are drawn apart from everything else.
	a, b := plant.NewClients(&s, 7), plant.NewClients(&s, 7)
	for range 1000 {
		ta, tb := a.Next(), b.Next()
		require.Equal(t, ta, tb)
		x, okA := a.Take(ta)
		y, okB := b.Take(tb)
		require.Equal(t, okA, okB)
		require.Equal(t, x, y)
	}
}

func TestClientsComeBackAsTheyAreToldTo(t *testing.T) {
	s := simple(1, 80, 0.001, 100)
	s.Retry = &plant.Retry{MaxRetries: 2, BaseMS: 500, Factor: 2, CapMS: 800, Jitter: 0, OnShed: true}
	c := plant.NewClients(&s, 1)
	a := plant.Attempt{Class: 3, Requester: 5, First: 1}
	c.Failed(1, a) // not on this
	require.Greater(t, c.Next(), 2.0)
	c.Shed(1, a)
	require.Equal(t, 1.5, c.Next())
	a, ok := c.Take(1.5)
	require.True(t, ok)
	require.Equal(t, plant.Attempt{Class: 3, Requester: 5, First: 1, Tries: 1}, a)
	c.Shed(1.5, a)
	require.Equal(t, 2.3, c.Next(), "the cap")
	a, _ = c.Take(2.3)
	c.Shed(2.3, a)
	require.Greater(t, c.Next(), 2.3, "enough")
}

func TestBadScenariosAreRejectedWithFieldAndValue(t *testing.T) {
	good, ok := plant.Find("S5")
	require.True(t, ok)
	for want, spoil := range map[string]func(s *plant.Scenario){
		"duration_s 0":          func(s *plant.Scenario) { s.DurationS = 0 },
		"incident_s[1] 9000":    func(s *plant.Scenario) { s.IncidentS[1] = 9000 },
		"workers 0":             func(s *plant.Scenario) { s.Workers = 0 },
		"tick_ms 10":            func(s *plant.Scenario) { s.TickMS = 10 },
		`keys.mode "dice"`:      func(s *plant.Scenario) { s.Keys.Mode = "dice" },
		`sensor.kind "tarot"`:   func(s *plant.Scenario) { s.Sensor.Kind = "tarot" },
		"base_rps.gold":         func(s *plant.Scenario) { s.BaseRPS = map[string]float64{"gold": 5, "get": 5} },
		"base_rps.get -5":       func(s *plant.Scenario) { s.BaseRPS = map[string]float64{"get": -5, "post": 50} },
		"offered load peaks at": func(s *plant.Scenario) { s.BaseRPS = nil },
		"load_all -1":           func(s *plant.Scenario) { s.LoadAll = plant.Curve{Points: [][2]float64{{0, 1}, {9, -1}}} },
		"service_mult 0":        func(s *plant.Scenario) { s.ServiceMult = plant.Curve{Points: [][2]float64{{0, 0}}} },
		"load.post 1": func(s *plant.Scenario) {
			s.Load = map[string]plant.Curve{"post": {Points: [][2]float64{{9, 1}, {5, 1}}}}
		},
		"retry.jitter 2":         func(s *plant.Scenario) { s.Retry = &plant.Retry{Jitter: 2} },
		"cold_restore.tau_s 0":   func(s *plant.Scenario) { s.ColdRestore = &plant.ColdRestore{Mult: 2} },
		"sensor.delay_ms -1":     func(s *plant.Scenario) { s.Sensor.DelayMS = -1 },
		"queue_deadline_ms 0: m": func(s *plant.Scenario) { s.QueueDeadlineMS = 0 },
	} {
		s := good
		spoil(&s)
		require.ErrorContains(t, s.Validate(), want)
	}
	_, err := plant.Parse(strings.NewReader("{"))
	require.ErrorContains(t, err, "plant: scenario: ")
}

func TestAllStopsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := plant.All(ctx, plant.Seeds(plant.Run{Scenario: simple(1, 80, 1, 100), Law: never()}, 1, 5))
	require.ErrorIs(t, err, context.Canceled)
}

// A thousand times real time, with room; the best of three, since the machine
// may be busy.
func TestReplayIsAThousandTimesRealTime(t *testing.T) {
	if raced {
		t.Skip("not under the race detector")
	}
	s, ok := plant.Find("S5") // the dearest: retries
	require.True(t, ok)
	best := 0.0
	for seed := range uint64(3) {
		begin := time.Now()
		plant.Run{Scenario: s, Law: ladder.Flap(), Seed: seed}.Do()
		best = max(best, s.DurationS/time.Since(begin).Seconds())
	}
	require.Greater(t, best, 1000.0, fmt.Sprintf("%.0f times", best))
}

// sojournWithin is the share of an M/M/c queue's requests that are answered
// within t: c workers of rate mu, arrivals of rate lambda.
func sojournWithin(c int, mu, lambda, t float64) float64 {
	a := lambda / mu
	sum, term := 0.0, 1.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	top := term * float64(c) / (float64(c) - a)
	wait := top / (sum + top) // Erlang's C
	// Waiting beyond x has probability wait*exp(-(c*mu-lambda)*x); service is
	// exponential and independent of it.
	d := float64(c)*mu - lambda
	return 1 - ((1-wait)*math.Exp(-mu*t) + wait*(d*math.Exp(-mu*t)-mu*math.Exp(-d*t))/(d-mu))
}
