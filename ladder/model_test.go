package ladder_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/ladder"
)

// model is the law written down once more, the way docs/ladder.md has it: one
// function from top to bottom, in seconds, every quantity by its letter.
type model struct {
	ladder.Config
	now                  float64
	x, u, v, arm, hold   float64
	armed                bool
	tOver, tRest, tFresh float64
}

func newModel(c ladder.Config) *model {
	never := math.Inf(-1)
	return &model{Config: c, hold: c.Hold.Seconds(), tOver: never, tRest: never, tFresh: never}
}

// tick advances by elapsed seconds with a reading u of the given age; ok is
// false when there is none.
func (m *model) tick(elapsed, u, age float64, ok bool) {
	m.now += elapsed
	dt := min(elapsed, 2*m.Tick.Seconds())
	if !ok {
		if m.now-m.tFresh > m.Grace.Seconds() {
			m.x = m.x - dt*m.Max/m.FailOpen.Seconds()
			if m.x < 1e-4 {
				m.x = 0
			}
			m.arm, m.armed = 0, false
		}
		return
	}
	outage := m.now-m.tFresh > m.Grace.Seconds()
	m.tFresh = m.now
	if outage {
		m.u, m.v, m.arm, m.armed = min(u, m.High), min(u, 64), 0, false
		return
	}
	m.u += (1 - math.Exp(-dt/m.Smooth.Seconds())) * (min(u, m.Ceiling) - m.u)
	v := m.v + (1-math.Exp(-dt/m.BrakeSmooth.Seconds()))*(min(u, 64)-m.v)
	s := (v - m.v) / dt
	m.v = v

	hi := m.High
	if m.x >= 3 && m.Max > 3 {
		hi = max(hi, m.HighCritical)
	}
	eUp := min(max((m.u-hi)/m.Width, 0), m.ErrUp)
	eDown := min(max((m.Low-m.u)/m.Width, 0), m.ErrDown)

	was := m.armed
	if eUp > 0 {
		m.arm = min(m.Arm.Seconds(), m.arm+eUp*dt)
	} else {
		m.arm = max(0, m.arm-m.Leak*dt)
	}
	if m.arm >= m.Arm.Seconds() {
		m.armed = true
	} else if m.arm <= 0 {
		m.armed = false
	}
	if m.armed && !was && m.x > 0 && m.now-m.tRest < m.Watch.Seconds() {
		m.hold = min(m.HoldMax.Seconds(), 2*m.hold)
	}

	if m.armed && eUp > 0 {
		m.tOver = m.now
		if m.Brake > 0 && m.v+m.Brake.Seconds()*s < hi {
			return
		}
		r := min(m.ShedRate[min(int(m.x), 3)]*eUp, m.StepUp/max(dt, age))
		m.x = min(m.Max, m.x+min(m.StepUp, r*dt))
		return
	}
	if m.x == 0 {
		if m.now-m.tOver > m.HoldMax.Seconds() {
			m.hold = m.Hold.Seconds()
		}
		return
	}
	wait, k := m.ProbeWait*m.hold, m.Probe
	if eDown > 0 {
		wait = max(m.Hold.Seconds(), m.hold*(1-m.Forgive*min(1, eDown)))
		k = max(eDown, m.Probe)
	}
	if eUp > 0 || m.now-m.tOver < wait {
		return
	}
	r := min(m.RestoreRate[int(math.Ceil(m.x))-1]*k, m.StepDown/max(dt, age))
	m.x -= min(m.StepDown, r*dt)
	if m.x < 1e-4 {
		m.x = 0
	}
	m.tRest = m.now
}

// Loads that wander, jump, queue up and fall silent, on ticks that are not
// always even: the ladder does what the page says, tick for tick.
func TestTheLadderIsTheLawOnThePage(t *testing.T) {
	open := ladder.Default()
	open.Max = 4
	restless := ladder.Default()
	restless.Smooth, restless.Watch, restless.Hold = 0, 10*time.Minute, time.Second
	for name, cfg := range map[string]ladder.Config{
		"default": ladder.Default(), "flap": ladder.Flap(), "open to critical": open, "restless": restless,
		"five times as fast": ladder.Default().Faster(5),
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(8) {
				rng := rand.New(rand.NewPCG(seed, 8))
				l, m := ladder.New(cfg), newModel(cfg)
				now := time.Unix(1e9, 0)
				l.Tick(now, ladder.Reading{Value: 0.5, At: now, OK: true})
				m.tick(0, 0.5, 0, true)
				load, silent, age := 0.6, 0, time.Duration(0)
				lastAt := now
				for i := range 3000 {
					switch rng.IntN(200) {
					case 0:
						load = 1.4 * rng.Float64()
					case 1:
						load = 5 + 20*rng.Float64()
					case 2:
						load = 0.74 + 0.08*rng.Float64()
					case 3:
						silent = rng.IntN(100)
					case 4:
						age = time.Duration(rng.IntN(12)) * cfg.Tick
					}
					elapsed := cfg.Tick
					if rng.IntN(20) == 0 {
						elapsed = time.Duration((0.2 + 4*rng.Float64()) * float64(cfg.Tick))
					}
					now = now.Add(elapsed)
					r := ladder.Reading{Value: max(0, load+0.05*rng.NormFloat64()), At: now.Add(-age), OK: silent == 0}
					silent = max(0, silent-1)
					ok := r.OK && r.At.After(lastAt)
					if ok {
						lastAt = r.At
					}
					l.Tick(now, r)
					m.tick(elapsed.Seconds(), r.Value, age.Seconds(), ok)
					s := l.State()
					require.InDelta(t, m.x, s.Level, 1e-7, "seed %d tick %d", seed, i)
					require.Equal(t, m.armed, s.Armed, "seed %d tick %d", seed, i)
					require.InDelta(t, m.u, s.Load, 1e-7, "seed %d tick %d", seed, i)
					require.InDelta(t, m.hold, s.Hold.Seconds(), 1e-6, "seed %d tick %d", seed, i)
				}
			}
		})
	}
}
