package shop

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/ladder"
)

// ErrQueueFull is what Acquire returns when too many wait already.
var ErrQueueFull = errors.New("shop: the queue for a worker is full")

// Pool is a bounded pool of workers with a bounded first-come-first-served
// queue. Its methods are safe for concurrent use.
type Pool struct {
	mu    sync.Mutex
	live  int
	busy  int
	bound int
	queue list.List // of chan struct{}, closed when a worker is given

	// Since the last Reading: the time-weighted sum of the share of busy workers,
	// and the shortest the queue has been.
	since, noted time.Time
	load         float64
	shortest     int
}

// NewPool returns a pool of so many workers and places in the queue.
func NewPool(workers, queue int) *Pool {
	now := time.Now()
	return &Pool{live: workers, bound: queue, since: now, noted: now}
}

// Acquire takes a worker, waiting in the queue until one is free or ctx ends.
func (p *Pool) Acquire(ctx context.Context) error {
	p.mu.Lock()
	p.note()
	if p.busy < p.live && p.queue.Len() == 0 {
		p.busy++
		p.mu.Unlock()
		return nil
	}
	if p.queue.Len() >= p.bound {
		p.mu.Unlock()
		return ErrQueueFull
	}
	turn := make(chan struct{})
	place := p.queue.PushBack(turn)
	p.mu.Unlock()

	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note()
	select {
	case <-turn: // a worker came at the same moment: pass it on
		p.busy--
		p.hand()
	default:
		p.queue.Remove(place)
		p.shortest = min(p.shortest, p.queue.Len())
	}
	return ctx.Err()
}

// Release gives a worker back.
func (p *Pool) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note()
	p.busy--
	p.hand()
}

// Resize changes the number of workers. Those lost while they work finish
// first.
func (p *Pool) Resize(workers int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note()
	p.live = workers
	p.hand()
}

// hand gives free workers to those who wait, in order.
func (p *Pool) hand() {
	for p.busy < p.live && p.queue.Len() > 0 {
		close(p.queue.Remove(p.queue.Front()).(chan struct{}))
		p.busy++
	}
	p.shortest = min(p.shortest, p.queue.Len())
}

// note accounts for the time since the last change.
func (p *Pool) note() {
	now := time.Now()
	p.load += now.Sub(p.noted).Seconds() * float64(min(p.busy, p.live)) / float64(max(p.live, 1))
	p.noted = now
}

// Reading is the load since the last Reading, for a ladder whose time is
// compressed so far that the engine's own samples of Stats, ten a second, are
// too few: the mean share of workers that were busy, plus the queue that never
// went away, in workers.
func (p *Pool) Reading() ladder.Reading {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note()
	r := ladder.Reading{At: p.noted}
	if d := p.noted.Sub(p.since).Seconds(); d > 0 && p.live > 0 {
		r.Value, r.OK = p.load/d+float64(p.shortest)/float64(p.live), true
	}
	p.since, p.load, p.shortest = p.noted, 0, p.queue.Len()
	return r
}

// Stats is the state of the pool as the engine asks for it.
func (p *Pool) Stats() engine.WorkerStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return engine.WorkerStats{Busy: min(p.busy, p.live), Queued: p.queue.Len(), Live: p.live, At: time.Now()}
}
