package plant

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/weir-go/weir/ladder"
)

// sampleEvery is how often the pool is looked at, in seconds.
const sampleEvery = 0.1

// sensor watches a pool and hands out readings late.
type sensor struct {
	s        *Scenario
	rng      *rand.Rand
	standing ladder.Standing
	sum      float64 // inflight, busy
	samples  int
	pipe     []ladder.Reading // taken, not yet arrived
	arrived  ladder.Reading
}

func newSensor(s *Scenario, seed uint64) *sensor {
	return &sensor{s: s, rng: rand.New(rand.NewPCG(seed, 4))}
}

// sample looks at the pool. A reading instead of a mean is what an instant
// sensor gives: only the last sample before it counts.
func (m *sensor) sample(t float64, p *pool) {
	slots := p.s.Slots(t)
	if slots <= 0 {
		return
	}
	if m.s.Sensor.Instant {
		m.standing, m.sum, m.samples = ladder.Standing{}, 0, 0
	}
	m.standing.Sample(p.busy(), p.queued(), slots, at(t))
	busy := min(p.busy(), slots)
	if m.s.Sensor.Kind == "inflight" {
		busy = p.busy() + p.queued()
	}
	m.sum += float64(busy) / float64(slots)
	m.samples++
}

// read is the newest reading that has arrived by t. One is taken at every tick.
func (m *sensor) read(t float64) ladder.Reading {
	r := m.standing.Read()
	if m.s.Sensor.Kind != "standing" && r.OK {
		r.Value = m.sum / float64(m.samples)
	}
	m.sum, m.samples = 0, 0
	if r.OK {
		r.Value = max(0, r.Value+m.s.Sensor.NoiseSD*m.rng.NormFloat64())
		m.pipe = append(m.pipe, r)
	}
	late := at(t - m.s.Sensor.DelayMS/1e3)
	for len(m.pipe) > 0 && !m.pipe[0].At.After(late) {
		m.arrived = m.pipe[0]
		m.pipe = m.pipe[1:]
	}
	return m.arrived
}

// epoch is the date of virtual time 0; any will do.
var epoch = time.Unix(0, 0)

// at is the date of a virtual time. It is rounded to microseconds so that times
// reached by different sums are the same.
func at(t float64) time.Time { return epoch.Add(time.Duration(math.Round(t*1e6)) * time.Microsecond) }
