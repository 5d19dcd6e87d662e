package plant

import (
	"math"
	"math/rand/v2"
)

// finish is a moment at which a worker becomes free.
type finish float64

func (f finish) when() float64 { return float64(f) }

// waiting is a request in the queue.
type waiting struct {
	Attempt
	since float64
}

// pool is the workers and the queue before them.
type pool struct {
	s       *Scenario
	rng     *rand.Rand
	running heap[finish]
	queue   []waiting // first in, first out; [head:] wait
	head    int
	cold    []float64 // when each requester was last shed; -Inf: never
	figures *figures
	clients *Clients
}

func newPool(s *Scenario, seed uint64, f *figures, c *Clients) *pool {
	p := &pool{s: s, rng: rand.New(rand.NewPCG(seed, 2)), figures: f, clients: c}
	if s.ColdRestore != nil {
		p.cold = make([]float64, len(classes)*s.Keys.Count)
		for i := range p.cold {
			p.cold[i] = math.Inf(-1)
		}
	}
	return p
}

func (p *pool) busy() int   { return len(p.running.items) }
func (p *pool) queued() int { return len(p.queue) - p.head }

// nextFinish is when the next worker becomes free.
func (p *pool) nextFinish() float64 {
	if len(p.running.items) == 0 {
		return math.Inf(1)
	}
	return float64(p.running.items[0])
}

// offer takes an attempt that was admitted at t.
func (p *pool) offer(t float64, a Attempt) {
	p.expire(t)
	if p.queued() == 0 && p.busy() < p.s.Slots(t) {
		p.start(t, waiting{Attempt: a, since: t})
		return
	}
	if p.queued() >= p.s.QueueCap {
		p.clients.Failed(t, a)
		return
	}
	p.queue = append(p.queue, waiting{Attempt: a, since: t})
}

// free ends the service that finishes at t and lets the next ones start.
func (p *pool) free(t float64) {
	p.running.pop()
	p.fill(t)
}

// fill gives waiting requests to free workers.
func (p *pool) fill(t float64) {
	p.expire(t)
	slots := p.s.Slots(t)
	for p.queued() > 0 && p.busy() < slots {
		w := p.queue[p.head]
		p.head++
		p.start(t, w)
	}
	if p.head > 1024 && p.head*2 > len(p.queue) {
		p.queue = p.queue[:copy(p.queue, p.queue[p.head:])]
		p.head = 0
	}
}

// expire drops, unserved, those whose clients have given up by t.
func (p *pool) expire(t float64) {
	deadline := p.s.QueueDeadlineMS / 1e3
	for p.queued() > 0 && t-p.queue[p.head].since >= deadline {
		w := p.queue[p.head]
		p.head++
		p.figures.waited(t, deadline)
		p.clients.Failed(w.since+deadline, w.Attempt)
	}
}

func (p *pool) start(t float64, w waiting) {
	took := p.rng.ExpFloat64() * p.s.ServiceMeanMS / 1e3 * p.s.ServiceMult.At(t)
	if c := p.s.ColdRestore; c != nil {
		since := t - p.cold[w.Requester]
		took *= 1 + (c.Mult-1)*math.Exp(-since/c.TauS)
	}
	p.running.push(finish(t + took))
	p.figures.waited(t, t-w.since)
	p.figures.answered(w.Attempt, t+took-w.First)
}
