package ladder_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/ladder"
)

// lies are readings that are none.
var lies = map[string]func(r *rig) ladder.Reading{
	"silent":   func(r *rig) ladder.Reading { return ladder.Reading{Value: 0, At: r.now} },
	"NaN":      func(r *rig) ladder.Reading { return ladder.Reading{Value: math.NaN(), At: r.now, OK: true} },
	"+Inf":     func(r *rig) ladder.Reading { return ladder.Reading{Value: math.Inf(1), At: r.now, OK: true} },
	"-Inf":     func(r *rig) ladder.Reading { return ladder.Reading{Value: math.Inf(-1), At: r.now, OK: true} },
	"negative": func(r *rig) ladder.Reading { return ladder.Reading{Value: -0.1, At: r.now, OK: true} },
	"frozen":   func(r *rig) ladder.Reading { return ladder.Reading{Value: 0.1, At: r.State().At, OK: true} },
	"older":    func(r *rig) ladder.Reading { return ladder.Reading{Value: 0.1, At: r.State().At.Add(-1), OK: true} },
}

func TestABrokenSensorFreezesThenOpens(t *testing.T) {
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			r := at(t, ladder.Default(), 3)
			last := r.State()
			for s := 1; s <= 150; s++ {
				r.now = r.now.Add(time.Second)
				r.Tick(r.now, lie(r))
				switch {
				case s <= 30:
					require.Equal(t, last.Level, r.Level(), "after %d s", s)
					require.False(t, r.State().Blind)
				default:
					require.InDelta(t, 3-3*float64(s-30)/120, r.Level(), 1e-9, "after %d s", s)
					require.True(t, r.State().Blind)
					require.False(t, r.State().Armed)
				}
				require.Equal(t, last.Load, r.State().Load, "a lie reached the filter")
			}
			require.Zero(t, r.Level())
			r.feed(2.0)
			require.False(t, r.State().Blind)
			require.Zero(t, r.Level(), "one sample after an outage sheds")
			require.LessOrEqual(t, r.until(2.0, r.shedding), 13.0, "and does not arm again")
		})
	}
}

// A sensor that reports idleness cannot be told from an idle service; it opens
// the ladder as fast as that would, not faster.
func TestASensorStuckAtZeroRestoresInItsTime(t *testing.T) {
	r := at(t, ladder.Default(), 3)
	took := r.until(0, func() bool { return r.Level() == 0 })
	require.Greater(t, took, 135.0)
}

func TestALateReadingMovesLess(t *testing.T) {
	late := func(age time.Duration) *rig {
		r := newRig(ladder.Default())
		for range 90 {
			r.now = r.now.Add(time.Second)
			r.Tick(r.now, ladder.Reading{Value: 1.6, At: r.now.Add(-age), OK: true})
		}
		return r
	}
	cfg := ladder.Default()
	require.Equal(t, 3.0, late(0).Level())
	// What a reading is worth is spread over its age: 80 ticks after arming.
	require.LessOrEqual(t, late(10*time.Second).Level(), 90*cfg.StepUp/10)
	require.LessOrEqual(t, late(60*time.Second).Level(), 90*cfg.StepUp/60)
	require.Positive(t, late(60*time.Second).Level())
}

func TestAReadingWithoutAStampIsTakenAsNew(t *testing.T) {
	r := newRig(ladder.Default())
	for range 90 {
		r.now = r.now.Add(time.Second)
		r.Tick(r.now, ladder.Reading{Value: 1.6, OK: true})
	}
	require.Equal(t, 3.0, r.Level())
	require.Equal(t, r.now, r.State().At)
}

func TestAStampFromTheFutureDoesNotSilenceTheSensor(t *testing.T) {
	r := newRig(ladder.Default())
	r.feed(0.5)
	r.now = r.now.Add(time.Second)
	r.Tick(r.now, ladder.Reading{Value: 0.5, At: r.now.Add(time.Hour), OK: true})
	require.LessOrEqual(t, r.until(1.6, r.shedding), 8.0)

	ahead := r.now.Add(time.Hour) // but the same stamp over and over is one reading
	for range 40 {
		r.now = r.now.Add(time.Second)
		r.Tick(r.now, ladder.Reading{Value: 1.6, At: ahead, OK: true})
	}
	require.True(t, r.State().Blind)
}

func TestAStalledTickerShedsNothing(t *testing.T) {
	r := newRig(ladder.Default())
	for range 60 {
		r.feed(0.7)
	}
	r.now = r.now.Add(10 * time.Minute)
	r.feed(40)
	require.Zero(t, r.Level())

	// Nor does it while armed: what was gathered before the stall is not now.
	r = newRig(ladder.Default())
	r.feed(0.7)
	r.until(1.6, r.shedding)
	before := r.Level()
	r.now = r.now.Add(10 * time.Minute)
	r.feed(40)
	require.Equal(t, before, r.Level())
	require.False(t, r.State().Armed)

	// With ticks so long that one of them could gather all it takes to arm.
	cfg := ladder.Default()
	cfg.Tick = 15 * time.Second
	r = newRig(cfg)
	r.feed(0.7)
	r.now = r.now.Add(10 * time.Minute)
	r.feed(40)
	require.Zero(t, r.Level())
}

func TestAShortStallIntegratesTwoTicksAtMost(t *testing.T) {
	r := at(t, ladder.Default(), 1)
	r.until(0.5, func() bool { return r.Level() < 1 })
	before := r.Level()
	r.now = r.now.Add(25 * time.Second)
	r.feed(0.5)
	require.InDelta(t, 2*1.25/90, before-r.Level(), 0.01)
}

func TestTicksInABurstMoveNothing(t *testing.T) {
	r := newRig(ladder.Default())
	r.feed(0.7)
	r.until(1.6, r.shedding)
	before := r.State()
	for i := range 1000 {
		r.Tick(r.now, ladder.Reading{Value: 50, At: r.now.Add(time.Duration(i + 1)), OK: true})
	}
	require.Equal(t, before.Level, r.Level())
	require.Equal(t, before.Load, r.State().Load)
}

func TestAClockThatGoesBackMovesNothing(t *testing.T) {
	r := at(t, ladder.Default(), 2)
	before := r.Level()
	for range 100 {
		r.now = r.now.Add(-time.Hour)
		r.Tick(r.now, ladder.Reading{Value: 0.1, At: r.now, OK: true})
	}
	require.Equal(t, before, r.Level())
	require.Less(t, r.until(0.3, func() bool { return r.Level() == 0 }), 200.0, "and goes on from there")
}

// No traffic for five minutes: the level is a matter of time, not of requests.
func TestRestoresWithoutTraffic(t *testing.T) {
	r := at(t, ladder.Default(), 3)
	for range 300 {
		r.feed(0.1)
	}
	require.Zero(t, r.Level())
	require.False(t, ladder.MakeWord(r.Level(), 1).Sheds(0, 42))
}

func TestConstantsChangeInMidIncident(t *testing.T) {
	r := at(t, ladder.Default(), 2.5)
	before := r.State()

	lower := ladder.Default()
	lower.Max = 1.5
	r.Reconfigure(lower)
	after := r.State()
	require.Equal(t, 1.5, after.Level)
	before.Level = 1.5
	before.Exhausted = after.Exhausted // at its new cap it is
	require.Equal(t, before, after, "arming, hold, filter and reading are kept")

	higher := ladder.Default()
	r.Reconfigure(higher)
	require.Equal(t, 1.5, r.Level(), "a higher cap moves nothing by itself")
	r.feed(1.6)
	require.Greater(t, r.Level(), 1.5)

	patient := ladder.Default()
	patient.Hold, patient.HoldMax = time.Minute, time.Minute
	r.Reconfigure(patient)
	require.Equal(t, time.Minute, r.State().Hold, "the hold stays within the new bounds")
}

func TestStateBeforeTheFirstReading(t *testing.T) {
	s := ladder.New(ladder.Default()).State()
	require.True(t, s.Blind)
	require.True(t, s.At.IsZero())
	s.Blind = false
	require.Equal(t, ladder.State{Hold: 20 * time.Second}, s)
}
