package ladder

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Tiers is how many tiers there are: 0 test-mode, 1 reads, 2 writes, 3
// critical.
const Tiers = 4

// Config holds the constants of the law. It is data: it can be compared,
// printed and replaced in mid-incident. [Default] is what the stability tests
// were run with; the reasons below are for its values. Levels and steps are in
// tiers, loads in utilisation (1: every worker busy). "Error" is how far the
// smoothed load is beyond High or below Low, in units of Width.
type Config struct {
	// Tick is how often Ladder.Tick is called. From 200 ms to 2 s makes no
	// difference; 5 s costs about 1 point of critical goodput, 10 s about 3.
	Tick time.Duration

	// High is where bad begins (0.80). Keep normal load at least 3 standard
	// deviations of the smoothed signal below it: at most 0.72 for 40 workers.
	High float64
	// HighCritical replaces High, if larger, while the level is in the critical
	// tier (0.95): that one goes only at true saturation. Matters if Max > 3.
	HighCritical float64
	// Low is where restoring in proportion begins (0.75). Between Low and High
	// the ladder only probes. 0.70 to 0.77 do alike; lower sheds for longer.
	Low float64
	// Width is the load of one unit of error (0.20): from High to saturation.
	Width float64
	// ErrUp and ErrDown bound the error (3 and 2): a deep queue sheds up to three
	// times as fast without changing how small deviations are met, and deep
	// idleness restores twice as fast.
	ErrUp, ErrDown float64
	// Ceiling is where a reading is cut before it is smoothed (1.6), so that one
	// absurd value cannot dominate.
	Ceiling float64

	// Smooth is the time constant of the level filter (5 s). Without it there are
	// twice the reversals; 3 to 8 s do alike.
	Smooth time.Duration
	// Arm is how much overload, in seconds at an error of 1, must gather before
	// the ladder sheds (5 s), and Leak what of it drains per second without
	// overload (0.5). So a deep queue sheds after 5 s, full workers after 13 s, 0.84
	// after 40 s, and noise around 0.75 never; it disarms 10 s after health
	// returns. Raise Arm to 10 s if bursts of ten seconds are normal.
	Arm  time.Duration
	Leak float64

	// ShedRate is how fast each tier goes, in tiers per second at an error of 1
	// (1/10, 1/20, 1/25, 1/80): test-mode traffic is expendable, every rung above
	// goes more reluctantly; all three below critical take 55 s, a third of that
	// with a deep queue. +Inf leaves StepUp as the only bound.
	ShedRate [Tiers]float64
	// RestoreRate is how fast each tier comes back, in tiers per second at an
	// error of 1 (1/90, 1/90, 1/90, 1/45): 4 to 9 times slower than it went.
	// Equal rates give 1.5 times the reversals, fast ones 2.5 times.
	RestoreRate [Tiers]float64
	// StepUp and StepDown bound one move, per tick and per age of the reading
	// (0.35 and 0.10 tiers). They bound the overshoot of dead time, however long.
	StepUp, StepDown float64
	// Max is the highest level (3): critical is never shed. 0 to Tiers; 0 is the
	// kill switch.
	Max float64

	// Brake stops adding when the slope of the signal would carry it below High
	// within this time (10 s), and BrakeSmooth is the time constant of that slope
	// (2 s). It halves what is shed beyond need. 0 leaves the brake out.
	Brake, BrakeSmooth time.Duration

	// Hold is how long to wait after the last overload before restoring (20 s).
	// It doubles, up to HoldMax (5 min), every time restoring ended in overload
	// within Watch (60 s), and is forgiven after HoldMax of quiet at level 0.
	Hold, HoldMax, Watch time.Duration
	// Forgive is the share of the backed-off wait that full headroom saves (0.5).
	Forgive float64
	// Probe is the error with which traffic is given back between Low and High
	// (0.1), after ProbeWait holds (2): it frees a ladder whose normal load lies
	// in that band.
	Probe, ProbeWait float64

	// Grace is how long the level stands without a reading (30 s); from then on it
	// falls from Max to 0 in FailOpen (120 s). A dead sensor opens the ladder.
	Grace, FailOpen time.Duration
}

// Default returns the constants that the stability tests were run with.
func Default() Config {
	return Config{
		Tick:         time.Second,
		High:         0.80,
		HighCritical: 0.95,
		Low:          0.75,
		Width:        0.20,
		ErrUp:        3,
		ErrDown:      2,
		Ceiling:      1.6,
		Smooth:       5 * time.Second,
		Arm:          5 * time.Second,
		Leak:         0.5,
		ShedRate:     [Tiers]float64{1. / 10, 1. / 20, 1. / 25, 1. / 80},
		RestoreRate:  [Tiers]float64{1. / 90, 1. / 90, 1. / 90, 1. / 45},
		StepUp:       0.35,
		StepDown:     0.10,
		Max:          3,
		Brake:        10 * time.Second,
		BrakeSmooth:  2 * time.Second,
		Hold:         20 * time.Second,
		HoldMax:      300 * time.Second,
		Watch:        60 * time.Second,
		Forgive:      0.5,
		Probe:        0.1,
		ProbeWait:    2,
		Grace:        30 * time.Second,
		FailOpen:     120 * time.Second,
	}
}

// Flap returns the same law with every damper taken out: a whole tier up on
// every tick above 0.80, a whole tier down on every other. It is there to show
// what the dampers are for; never run it.
func Flap() Config {
	c := Default()
	c.Low, c.HighCritical = c.High, c.High
	c.Width, c.ErrUp, c.ErrDown = 0.001, 1, 1
	c.Smooth, c.Arm, c.Brake = 0, 0, 0
	c.Hold, c.HoldMax = 0, 0
	for k := range c.ShedRate {
		c.ShedRate[k], c.RestoreRate[k] = math.Inf(1), math.Inf(1)
	}
	c.StepUp, c.StepDown = 1, 1
	c.Probe = 1
	return c
}

// Faster returns the law for a world in which everything happens k times as
// fast: durations are divided by k, rates multiplied. It is for replays and
// demonstrations; k must be positive.
func (c Config) Faster(k float64) Config {
	for _, d := range []*time.Duration{
		&c.Tick, &c.Smooth, &c.Arm, &c.Brake, &c.BrakeSmooth,
		&c.Hold, &c.HoldMax, &c.Watch, &c.Grace, &c.FailOpen,
	} {
		*d = time.Duration(float64(*d) / k)
	}
	for tier := range Tiers {
		c.ShedRate[tier] *= k
		c.RestoreRate[tier] *= k
	}
	return c
}

// Validate returns everything that is wrong with the constants, by field and
// value; nil when nothing is.
func (c Config) Validate() error {
	var v validator
	v.duration("Tick", c.Tick, 1)
	v.within("High", c.High, math.SmallestNonzeroFloat64, math.MaxFloat64)
	v.within("HighCritical", c.HighCritical, 0, math.MaxFloat64)
	v.within("Low", c.Low, 0, math.MaxFloat64)
	if c.Low > c.High {
		v.add("Low", c.Low, fmt.Sprintf("must not be above High (%v)", c.High))
	}
	v.within("Width", c.Width, 1e-6, math.MaxFloat64)
	v.within("ErrUp", c.ErrUp, math.SmallestNonzeroFloat64, math.MaxFloat64)
	v.within("ErrDown", c.ErrDown, math.SmallestNonzeroFloat64, math.MaxFloat64)
	v.within("Ceiling", c.Ceiling, math.SmallestNonzeroFloat64, 64)
	if c.Ceiling <= c.High {
		v.add("Ceiling", c.Ceiling, fmt.Sprintf("must be above High (%v), or nothing is ever shed", c.High))
	}
	v.duration("Smooth", c.Smooth, 0)
	v.duration("Arm", c.Arm, 0)
	v.within("Leak", c.Leak, 0, math.MaxFloat64)
	if c.Leak == 0 && c.Arm > 0 {
		v.add("Leak", c.Leak, "must be positive, or noise arms the ladder in the end")
	}
	for k := range Tiers {
		v.within(fmt.Sprintf("ShedRate[%d]", k), c.ShedRate[k], math.SmallestNonzeroFloat64, math.Inf(1))
		v.within(fmt.Sprintf("RestoreRate[%d]", k), c.RestoreRate[k], math.SmallestNonzeroFloat64, math.Inf(1))
	}
	v.within("StepUp", c.StepUp, math.SmallestNonzeroFloat64, Tiers)
	v.within("StepDown", c.StepDown, math.SmallestNonzeroFloat64, Tiers)
	v.within("Max", c.Max, 0, Tiers)
	v.duration("Brake", c.Brake, 0)
	v.duration("BrakeSmooth", c.BrakeSmooth, 0)
	v.duration("Hold", c.Hold, 0)
	v.duration("HoldMax", c.HoldMax, 0)
	if c.HoldMax < c.Hold {
		v.add("HoldMax", c.HoldMax, fmt.Sprintf("must not be below Hold (%v)", c.Hold))
	}
	v.duration("Watch", c.Watch, 0)
	v.within("Forgive", c.Forgive, 0, 1)
	v.within("Probe", c.Probe, math.SmallestNonzeroFloat64, math.MaxFloat64)
	v.within("ProbeWait", c.ProbeWait, 0, math.MaxFloat64)
	v.duration("Grace", c.Grace, 1)
	if c.Tick > 0 && c.Grace/2 < c.Tick {
		v.add("Grace", c.Grace, fmt.Sprintf("must be at least two ticks (%v each), or every reading comes after an outage", c.Tick))
	}
	v.duration("FailOpen", c.FailOpen, 1)
	return errors.Join(v.errs...)
}

// validator collects faults.
type validator struct{ errs []error }

func (v *validator) add(field string, value any, what string) {
	v.errs = append(v.errs, fmt.Errorf("ladder: config: %s %v: %s", field, value, what))
}

func (v *validator) within(field string, f, low, high float64) {
	switch {
	case f >= low && f <= high: // false for NaN
	case low == 0 && high == math.MaxFloat64:
		v.add(field, f, "must be a finite number of 0 or more")
	case high == math.MaxFloat64:
		v.add(field, f, "must be a positive finite number")
	case math.IsInf(high, 1):
		v.add(field, f, "must be positive")
	default:
		v.add(field, f, fmt.Sprintf("must be from %.3g to %v", low, high))
	}
}

func (v *validator) duration(field string, d, low time.Duration) {
	if d >= low {
		return
	}
	if low > 0 {
		v.add(field, d, "must be positive")
		return
	}
	v.add(field, d, "must not be negative")
}
