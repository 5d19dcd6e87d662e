package ladder_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/ladder"
)

// rig feeds a ladder a reading per tick on a clock of its own.
type rig struct {
	*ladder.Ladder
	now  time.Time
	tick time.Duration
}

func newRig(cfg ladder.Config) *rig {
	return &rig{Ladder: ladder.New(cfg), now: time.Unix(1e9, 0), tick: cfg.Tick}
}

// feed ticks once with a reading taken at that moment.
func (r *rig) feed(u float64) {
	r.now = r.now.Add(r.tick)
	r.Tick(r.now, ladder.Reading{Value: u, At: r.now, OK: true})
}

// until feeds u until the condition holds and returns how many seconds that
// took, or a day.
func (r *rig) until(u float64, done func() bool) float64 {
	begin := r.now
	for !done() && r.now.Sub(begin) < 24*time.Hour {
		r.feed(u)
	}
	return r.now.Sub(begin).Seconds()
}

func (r *rig) shedding() bool { return r.Level() > 0 }

// at is a rig whose level has been driven to x and whose load is then healthy
// at 0.5, still waiting to restore.
func at(t *testing.T, cfg ladder.Config, x float64) *rig {
	t.Helper()
	r := newRig(cfg)
	for range 30 {
		r.feed(0.5)
	}
	r.until(1.6, func() bool { return r.Level() >= x })
	require.GreaterOrEqual(t, r.Level(), x)
	return r
}

func TestTripsAndClimbsInItsTime(t *testing.T) {
	trip := func(u float64) float64 {
		r := newRig(ladder.Default())
		for range 60 {
			r.feed(0.6)
		}
		return r.until(u, r.shedding)
	}
	require.LessOrEqual(t, trip(1.6), 8.0)
	require.LessOrEqual(t, trip(1.0), 15.0)
	require.GreaterOrEqual(t, trip(0.84), 20.0)
	require.LessOrEqual(t, trip(0.84), 60.0)

	r := newRig(ladder.Default())
	r.feed(0.6)
	up := r.until(1.0, func() bool { return r.Level() == 3 })
	require.LessOrEqual(t, up, 80.0)
	require.GreaterOrEqual(t, up, 55.0, "faster than the rungs allow")
	down := r.until(0.3, func() bool { return r.Level() == 0 })
	require.LessOrEqual(t, down, 200.0)
	require.GreaterOrEqual(t, down, 135.0, "faster than the rungs allow")
}

func TestNoiseOfANormalDayNeverTrips(t *testing.T) {
	r := newRig(ladder.Default())
	rng := rand.New(rand.NewPCG(1, 1))
	for range 24 * 3600 {
		r.feed(max(0, 0.75+0.10*rng.NormFloat64()))
		require.Zero(t, r.Level())
	}
}

// An overload that is shed away leaves a signal that trembles around the
// threshold. Without arming, holding and slow restoring, each dip would open
// everything.
func TestTremblingAroundTheThresholdDoesNotFlap(t *testing.T) {
	cfg := ladder.Default()
	cfg.Tick = 250 * time.Millisecond
	r := newRig(cfg)
	r.feed(0.6)
	var levels []float64
	last := 0.0
	step := func(u float64) {
		r.feed(u)
		levels = append(levels, r.Level())
		require.LessOrEqual(t, r.Level()-last, cfg.StepUp)
		require.LessOrEqual(t, last-r.Level(), cfg.StepDown)
		last = r.Level()
	}
	for range 20 {
		step(0.95)
	}
	for i := range 240 {
		step(0.79 + 0.02*float64(i%2))
	}
	turns, swing := 0, 0.1
	low, high, dir := levels[0], levels[0], 0
	for _, l := range levels {
		low, high = min(low, l), max(high, l)
		if dir <= 0 && l-low > swing {
			turns, dir, high = turns-dir, 1, l
		} else if dir >= 0 && high-l > swing {
			turns, dir, low = turns+dir, -1, l
		}
	}
	require.LessOrEqual(t, turns, 2)
}

// Shedding cannot lower a load that it did not cause. It stops below critical,
// says so, and the kill switch ends it.
func TestALoadThatSheddingDoesNotLower(t *testing.T) {
	r := newRig(ladder.Default())
	r.feed(0.6)
	require.False(t, r.State().Exhausted)
	for range 600 {
		r.feed(1.0)
		for cohort := range uint64(64) {
			require.False(t, ladder.MakeWord(r.Level(), 7).Sheds(3, cohort), "critical is shed")
		}
	}
	require.Equal(t, 3.0, r.Level())
	require.True(t, r.State().Exhausted)

	off := ladder.Default()
	off.Max = 0
	r.Reconfigure(off)
	require.Zero(t, r.Level())
	r.feed(1.0)
	require.Zero(t, r.Level())
	require.False(t, r.State().Exhausted)
}

func TestCriticalTakesTrueSaturation(t *testing.T) {
	cfg := ladder.Default()
	cfg.Max = ladder.Tiers
	r := newRig(cfg)
	for range 1200 {
		r.feed(0.93)
	}
	require.GreaterOrEqual(t, r.Level(), 3.0)
	require.Less(t, r.Level(), 3.05)
	r.until(1.0, func() bool { return r.Level() == 4 })
	require.Equal(t, 4.0, r.Level())
}

func TestFailedProbesBackOffAndAreForgiven(t *testing.T) {
	r := at(t, ladder.Default(), 1.5)
	hold := r.State().Hold
	require.Equal(t, 20*time.Second, hold)
	for range 6 { // give back until it hurts
		before := r.Level()
		r.until(0.5, func() bool { return r.Level() < before })
		before = r.Level()
		r.until(1.2, func() bool { return r.Level() > before })
		require.GreaterOrEqual(t, r.State().Hold, hold)
		hold = r.State().Hold
	}
	require.Equal(t, 300*time.Second, hold, "doubled up to the most")

	waited := r.until(0.0, func() bool { return r.State().Level < 1.4 })
	require.Greater(t, waited, 150.0, "full headroom saves half of the wait, not more")
	r.until(0.5, func() bool { return r.Level() == 0 })
	for range 310 {
		r.feed(0.5)
	}
	require.Equal(t, 20*time.Second, r.State().Hold)
}

// A normal load between Low and High must not leave the ladder shut for ever.
func TestProbesOpenAStuckLadder(t *testing.T) {
	r := at(t, ladder.Default(), 1)
	took := r.until(0.77, func() bool { return r.Level() == 0 })
	require.Less(t, took, 1800.0)
	require.Greater(t, took, 600.0, "a probe, not a restore")
}

// The brake stops adding while a deep queue drains: everything shed then would
// be beyond need.
func TestBrakeHoldsWhileTheQueueDrains(t *testing.T) {
	drain := func(cfg ladder.Config) float64 {
		r := newRig(cfg)
		r.feed(0.6)
		for range 12 {
			r.feed(12)
		}
		for u := 11.0; u > 0.9; u-- {
			r.feed(u)
		}
		return r.Level()
	}
	without := ladder.Default()
	without.Brake = 0
	require.Less(t, drain(ladder.Default()), drain(without)-0.3)

	r := newRig(ladder.Default()) // and it cannot hold while the load is flat
	r.feed(0.6)
	r.until(1.0, func() bool { return r.Level() == 3 })
	require.Equal(t, 3.0, r.Level())
}

func TestOneAbsurdReadingNeitherTripsNorBlocks(t *testing.T) {
	r := newRig(ladder.Default())
	for range 60 {
		r.feed(0.7)
	}
	r.feed(1e308)
	for range 60 {
		r.feed(0.7)
	}
	require.Zero(t, r.Level())
	r.feed(1e308)
	require.LessOrEqual(t, r.until(1.0, r.shedding), 45.0, "the slope of one reading holds the brake")
}

func TestFlapIsABangBangTickForTick(t *testing.T) {
	r := newRig(ladder.Flap())
	r.feed(0.5)
	rng := rand.New(rand.NewPCG(3, 3))
	want := 0.0
	for range 5000 {
		u := 1.6 * rng.Float64()
		r.feed(u)
		if u > 0.8 {
			want = min(3, want+1)
		} else {
			want = max(0, want-1)
		}
		// A thousandth beyond the threshold is where the law's error is whole.
		if math.Abs(u-0.8) < 0.001 {
			want = math.Round(r.Level())
		}
		require.InDelta(t, want, r.Level(), 1e-9)
		want = r.Level()
	}
}
