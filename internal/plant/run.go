package plant

import (
	"math/rand/v2"

	"github.com/weir-go/weir/ladder"
)

// Run is one incident with one controller.
type Run struct {
	Scenario Scenario      // valid
	Law      ladder.Config // valid; its Tick is replaced by the scenario's
	Seed     uint64
	// Tamper, when not nil, is what becomes of a reading on its way to the ladder
	// at a time, in seconds.
	Tamper func(t float64, r ladder.Reading) ladder.Reading
}

// Do lets the incident happen in virtual time.
func (r Run) Do() Result {
	s := &r.Scenario
	law := r.Law
	law.Tick = at(s.TickMS / 1e3).Sub(epoch)
	var (
		fig     = newFigures(s)
		crowd   = NewClients(s, r.Seed)
		workers = newPool(s, r.Seed, fig, crowd)
		eye     = newSensor(s, r.Seed)
		ctl     = ladder.New(law)
		gate    shedder
		salt    uint32
	)
	if s.Keys.Mode == "coin" {
		gate.coin = rand.New(rand.NewPCG(r.Seed, 5))
	}
	samples, ticks := 1, 1
	for {
		sample, tick := float64(samples)*sampleEvery, float64(ticks)*s.TickMS/1e3
		arrive, done := crowd.Next(), workers.nextFinish()
		t := min(arrive, done, sample, tick)
		if t >= s.DurationS {
			break
		}
		switch t {
		case done:
			workers.free(t)
		case arrive:
			a, ok := crowd.Take(t)
			if !ok {
				continue
			}
			shed := gate.sheds(a)
			fig.offered(t, a, shed)
			if shed {
				if workers.cold != nil {
					workers.cold[a.Requester] = t
				}
				crowd.Shed(t, a)
				continue
			}
			workers.offer(t, a)
		case sample:
			samples++
			workers.fill(t) // capacity may have come back without a worker becoming free
			eye.sample(t, workers)
			fig.sampled(t, workers.busy(), s.Slots(t))
		default:
			ticks++
			reading := eye.read(t)
			if r.Tamper != nil {
				reading = r.Tamper(t, reading)
			}
			before := ctl.Level()
			ctl.Tick(at(t), reading)
			level := ctl.Level()
			if before == 0 { // as the engine does it: by the hour, latched for an incident
				salt = uint32(r.Seed)*31 + uint32(t/3600)
			}
			gate.word = ladder.MakeWord(level, salt)
			fig.ticked(t, level, reading)
		}
	}
	return fig.result(r)
}
