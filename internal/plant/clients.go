package plant

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/weir-go/weir/ladder"
)

// attempt is one try of a request.
type attempt struct {
	class     int
	requester int     // class*Keys.Count + number
	first     float64 // when the request was first tried
	tries     int     // before this one
}

// retrial is an attempt to come.
type retrial struct {
	attempt
	at float64
}

func (r retrial) when() float64 { return r.at }

// clients make first attempts by a Poisson process and come back after
// refusals. First attempts draw from a source of their own, so that they are the
// same whatever the service does.
type clients struct {
	s        *Scenario
	arrivals *rand.Rand
	backoff  *rand.Rand
	peak     float64
	at       float64 // of the next candidate
	zipf     []float64
	retries  heap[retrial]
}

func newClients(s *Scenario, seed uint64) *clients {
	c := &clients{
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

// next is when the next attempt may come.
func (c *clients) next() float64 {
	if len(c.retries.items) > 0 {
		return min(c.at, c.retries.items[0].at)
	}
	return c.at
}

// take returns the attempt at t = next(). Candidates come at the highest rate
// that the scenario has and are thinned to the rate at t: ok is false for those
// that are thinned away.
func (c *clients) take(t float64) (a attempt, ok bool) {
	if t < c.at {
		return c.retries.pop().attempt, true
	}
	c.at = t + c.arrivals.ExpFloat64()/c.peak
	u := c.arrivals.Float64() * c.peak
	who := c.arrivals.Float64()
	for class := range classes {
		u -= c.s.rate(class, t)
		if u < 0 {
			return attempt{class: class, requester: class*c.s.Keys.Count + c.draw(who), first: t}, true
		}
	}
	return attempt{}, false
}

// draw picks a requester's number by a random share of 0 to 1.
func (c *clients) draw(u float64) int {
	if c.zipf == nil {
		return int(u * float64(c.s.Keys.Count))
	}
	i, _ := slices.BinarySearch(c.zipf, u*c.zipf[len(c.zipf)-1])
	return min(i, len(c.zipf)-1)
}

// refused is told that an attempt failed at t; again says whether this kind of
// failure is retried.
func (c *clients) refused(t float64, a attempt, again bool) {
	r := c.s.Retry
	if !again || a.tries >= r.MaxRetries {
		return
	}
	delay := min(r.CapMS, r.BaseMS*math.Pow(r.Factor, float64(a.tries))) / 1e3
	delay *= 1 - r.Jitter*c.backoff.Float64()
	a.tries++
	c.retries.push(retrial{attempt: a, at: t + delay})
}

// cohort is the stable hash by which the ladder knows a requester. Numbers would
// do, since the ladder mixes them; they are spread as a real key's hash is.
func cohort(requester int) uint64 { return (uint64(requester) + 1) * 0x9e3779b97f4a7c15 }

// shedder is the ladder's verdict as the hot path gives it.
type shedder struct {
	word ladder.Word
	coin *rand.Rand // nil: by the requester's hash
}

func (s *shedder) sheds(a attempt) bool {
	who := cohort(a.requester)
	if s.coin != nil {
		who = s.coin.Uint64()
	}
	return s.word.Sheds(a.class, who)
}
