package ladder

import (
	"math"
	"sync"
	"time"
)

const (
	// brakeCeiling is where a reading is cut before its slope is taken. The brake
	// must see a deep queue drain, so it is far above Config.Ceiling; without any
	// cut one reading of 1e308 would hold the brake for as long as it decays.
	brakeCeiling = 64
	// negligible is the level below which it is 0: on its way to 0 a sum of small
	// steps would stop short of it, and 0 ends an incident.
	negligible = 1e-4
)

// Ladder is the controller. Its methods are safe for concurrent use; Tick is
// meant to be called by one goroutine, the owner's ticker.
type Ladder struct {
	mu  sync.Mutex
	cfg Config

	// clock is the seconds of all ticks so far. Times below are on it: it never
	// goes back, whatever happens to the clock that Tick is given.
	clock  float64
	last   time.Time // of the last tick; zero: none yet
	lastAt time.Time // stamp of the last reading used; zero: none yet
	value  float64   // of the last reading used

	level  float64 // in tiers
	load   float64 // smoothed reading
	fast   float64 // reading smoothed for its slope
	gather float64 // overload gathered, in seconds at an error of 1
	armed  bool
	hold   float64 // s

	fresh    float64 // when a reading was last used; -Inf: never
	over     float64 // when there was last an overload while armed
	restored float64 // when the level last went down on its own
	futile   bool    // the last reading asked for more than Max
}

// New returns a ladder at level 0. cfg must be valid; see [Config.Validate].
func New(cfg Config) *Ladder {
	return &Ladder{
		cfg:      cfg,
		hold:     cfg.Hold.Seconds(),
		fresh:    math.Inf(-1),
		over:     math.Inf(-1),
		restored: math.Inf(-1),
	}
}

// State is a ladder's state at one moment.
type State struct {
	Level     float64       // in tiers
	Load      float64       // the smoothed reading that is compared with High and Low
	Armed     bool          // enough overload has gathered for shedding
	Exhausted bool          // the level is at Max and the load is still too high: shedding does not help
	Blind     bool          // no reading for longer than Grace (or none yet): the ladder opens
	Hold      time.Duration // the wait before restoring, backed off
	Reading   float64       // the last one used
	At        time.Time     // when that was measured; zero: none yet
}

// State returns the state after the last tick.
func (l *Ladder) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return State{
		Level:     l.level,
		Load:      l.load,
		Armed:     l.armed,
		Exhausted: l.futile && l.level > 0 && l.level >= l.cfg.Max,
		Blind:     l.clock-l.fresh > l.cfg.Grace.Seconds(),
		Hold:      time.Duration(l.hold * float64(time.Second)),
		Reading:   l.value,
		At:        l.lastAt,
	}
}

// Level returns the level in tiers, 0 to Config.Max.
func (l *Ladder) Level() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.level
}

// Reconfigure replaces the constants in mid-incident. cfg must be valid. A
// lower Max takes effect at once; a higher one does not move the level. Level,
// arming and the backed-off hold are kept, the hold within the new bounds.
func (l *Ladder) Reconfigure(cfg Config) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cfg = cfg
	l.level = min(l.level, cfg.Max)
	l.hold = min(max(l.hold, cfg.Hold.Seconds()), cfg.HoldMax.Seconds())
}

// Tick is one step of the law. now should be monotonic (time.Now is); when it
// stands still or goes back nothing moves, and a stall integrates two ticks at
// most. It does not allocate.
func (l *Ladder) Tick(now time.Time, r Reading) {
	l.mu.Lock()
	defer l.mu.Unlock()

	dt := 0.0
	if !l.last.IsZero() {
		elapsed := max(0, now.Sub(l.last).Seconds())
		l.clock += elapsed
		dt = min(elapsed, 2*l.cfg.Tick.Seconds())
	}
	l.last = now
	if r.At.IsZero() {
		r.At = now
	}

	if !r.usable() || !l.newer(now, r.At) {
		l.blind(dt)
		return
	}
	outage := l.clock-l.fresh > l.cfg.Grace.Seconds()
	age := max(0, now.Sub(r.At).Seconds())
	l.lastAt, l.value, l.fresh = r.At, r.Value, l.clock
	if outage {
		l.restart(r.Value)
		return
	}
	if dt > 0 {
		l.step(dt, age, r.Value)
	}
}

// newer reports whether a stamp is newer than the last one used. A last stamp
// that lies ahead of now tells of a stepped clock and proves nothing, but the
// very same stamp again is the same reading all the same.
func (l *Ladder) newer(now, at time.Time) bool {
	return at.After(l.lastAt) || l.lastAt.After(now) && !at.Equal(l.lastAt)
}

// blind is a tick without a reading: stand still for Grace, then open.
func (l *Ladder) blind(dt float64) {
	if l.clock-l.fresh <= l.cfg.Grace.Seconds() {
		return
	}
	l.lower(dt * l.cfg.Max / l.cfg.FailOpen.Seconds())
	l.gather, l.armed, l.futile = 0, false, false
}

// restart takes the first reading after an outage (or ever): nothing is known
// of the time in between, so one high sample must not shed.
func (l *Ladder) restart(u float64) {
	l.load = min(u, l.cfg.High)
	l.fast = min(u, brakeCeiling)
	l.gather, l.armed, l.futile = 0, false, false
}

// step moves the level for a reading u of the given age, dt after the last
// tick, both in seconds; dt > 0.
func (l *Ladder) step(dt, age, u float64) {
	c := &l.cfg
	slope := l.smooth(dt, u)

	high := c.High
	if l.level >= Tiers-1 && c.Max > Tiers-1 { // critical is next, and harder to shed
		high = max(high, c.HighCritical)
	}
	over := min(max((l.load-high)/c.Width, 0), c.ErrUp)
	under := min(max((c.Low-l.load)/c.Width, 0), c.ErrDown)
	l.futile = over > 0
	l.arm(dt, over)

	if l.armed && over > 0 {
		l.over = l.clock
		if c.Brake > 0 && l.fast+c.Brake.Seconds()*slope < high {
			return // already on the way back
		}
		rate := min(c.ShedRate[min(int(l.level), Tiers-1)]*over, c.StepUp/max(dt, age))
		l.level = min(c.Max, l.level+min(c.StepUp, rate*dt))
		return
	}
	if l.level == 0 {
		if l.clock-l.over > c.HoldMax.Seconds() {
			l.hold = c.Hold.Seconds()
		}
		return
	}
	if over == 0 {
		l.restore(dt, age, under)
	}
}

// smooth feeds both filters and returns the slope of the faster one, per
// second.
func (l *Ladder) smooth(dt, u float64) (slope float64) {
	c := &l.cfg
	l.load += (1 - math.Exp(-dt/c.Smooth.Seconds())) * (min(u, c.Ceiling) - l.load)
	fast := l.fast + (1-math.Exp(-dt/c.BrakeSmooth.Seconds()))*(min(u, brakeCeiling)-l.fast)
	slope = (fast - l.fast) / dt
	l.fast = fast
	return slope
}

// arm gathers overload in a leaky integral with two thresholds: full arms,
// empty disarms.
func (l *Ladder) arm(dt, over float64) {
	c := &l.cfg
	full, was := c.Arm.Seconds(), l.armed
	if over > 0 {
		l.gather = min(full, l.gather+over*dt)
	} else {
		l.gather = max(0, l.gather-c.Leak*dt)
	}
	switch {
	case l.gather >= full:
		l.armed = true
	case l.gather <= 0:
		l.armed = false
	}
	// Armed again so soon after giving back: that was too early.
	if l.armed && !was && l.level > 0 && l.clock-l.restored < c.Watch.Seconds() {
		l.hold = min(c.HoldMax.Seconds(), 2*l.hold)
	}
}

// restore gives traffic back: in proportion to the headroom below Low, as a
// slow probe between Low and High.
func (l *Ladder) restore(dt, age, under float64) {
	c := &l.cfg
	wait, err := c.ProbeWait*l.hold, c.Probe
	if under > 0 {
		wait = max(c.Hold.Seconds(), l.hold*(1-c.Forgive*min(1, under)))
		err = max(under, c.Probe)
	}
	if l.clock-l.over < wait {
		return
	}
	rate := min(c.RestoreRate[max(int(math.Ceil(l.level))-1, 0)]*err, c.StepDown/max(dt, age))
	l.lower(min(c.StepDown, rate*dt))
	l.restored = l.clock
}

func (l *Ladder) lower(by float64) {
	l.level -= by
	if l.level < negligible {
		l.level = 0
	}
}
