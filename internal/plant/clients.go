package plant

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/weir-go/weir/ladder"
)

// Attempt is one try of a request.
type Attempt struct {
	Class     int
	Requester int     // Class*Keys.Count + number
	First     float64 // when the request was first tried
	Tries     int     // before this one
}

// retrial is an attempt to come.
type retrial struct {
	Attempt
	at float64
}

func (r retrial) when() float64 { return r.at }

// Clients make first attempts by a Poisson process and come back after
// refusals. First attempts draw from a source of their own, so that they are the
// same whatever the service does.
type Clients struct {
	s        *Scenario
	arrivals *rand.Rand
	backoff  *rand.Rand
	peak     float64
	at       float64 // of the next candidate
	zipf     []float64
	retries  heap[retrial]
}

// NewClients returns the clients of a scenario.
func NewClients(s *Scenario, seed uint64) *Clients {
	c := &Clients{
		s:        s,
		arrivals: rand.New(rand.NewPCG(seed, 1)),
		backoff:  rand.New(rand.NewPCG(seed, 3)),
		peak:     s.peakRPS(),
	}
	if s.Keys.ZipfS > 0 {
		sum := 0.0
		for rank := range s.Keys.Count {
			sum += math.Pow(float64(rank+1), -s.Keys.ZipfS)
			c.zipf = append(c.zipf, sum)
		}
	}
	c.at = c.arrivals.ExpFloat64() / c.peak
	return c
}

// Next is when the next attempt may come.
func (c *Clients) Next() float64 {
	if len(c.retries.items) > 0 {
		return min(c.at, c.retries.items[0].at)
	}
	return c.at
}

// Take returns the attempt at t = Next(). Candidates come at the highest rate
// that the scenario has and are thinned to the rate at t: ok is false for those
// that are thinned away.
func (c *Clients) Take(t float64) (a Attempt, ok bool) {
	if t < c.at {
		return c.retries.pop().Attempt, true
	}
	c.at = t + c.arrivals.ExpFloat64()/c.peak
	u := c.arrivals.Float64() * c.peak
	who := c.arrivals.Float64()
	for class := range classes {
		u -= c.s.rate(class, t)
		if u < 0 {
			return Attempt{Class: class, Requester: class*c.s.Keys.Count + c.draw(who), First: t}, true
		}
	}
	return Attempt{}, false
}

// draw picks a requester's number by a random share of 0 to 1.
func (c *Clients) draw(u float64) int {
	if c.zipf == nil {
		return int(u * float64(c.s.Keys.Count))
	}
	i, _ := slices.BinarySearch(c.zipf, u*c.zipf[len(c.zipf)-1])
	return min(i, len(c.zipf)-1)
}

// Shed tells that an attempt was shed at t.
func (c *Clients) Shed(t float64, a Attempt) {
	if c.s.Retry != nil && c.s.Retry.OnShed {
		c.comeBack(t, a)
	}
}

// Failed tells that an attempt found the queue full or waited in vain until t.
func (c *Clients) Failed(t float64, a Attempt) {
	if c.s.Retry != nil && c.s.Retry.OnTimeout {
		c.comeBack(t, a)
	}
}

func (c *Clients) comeBack(t float64, a Attempt) {
	r := c.s.Retry
	if a.Tries >= r.MaxRetries {
		return
	}
	delay := min(r.CapMS, r.BaseMS*math.Pow(r.Factor, float64(a.Tries))) / 1e3
	delay *= 1 - r.Jitter*c.backoff.Float64()
	a.Tries++
	c.retries.push(retrial{Attempt: a, at: t + delay})
}

// cohort is the stable hash by which the ladder knows a requester. Numbers would
// do, since the ladder mixes them; they are spread as a real key's hash is.
func cohort(requester int) uint64 { return (uint64(requester) + 1) * 0x9e3779b97f4a7c15 }

// shedder is the ladder's verdict as the hot path gives it.
type shedder struct {
	word ladder.Word
	coin *rand.Rand // nil: by the requester's hash
}

func (s *shedder) sheds(a Attempt) bool {
	who := cohort(a.Requester)
	if s.coin != nil {
		who = s.coin.Uint64()
	}
	return s.word.Sheds(a.Class, who)
}
