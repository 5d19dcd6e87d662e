package shop

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weir-go/weir/engine"
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
}

// NewPool returns a pool of so many workers and places in the queue.
func NewPool(workers, queue int) *Pool { return &Pool{live: workers, bound: queue} }

// Acquire takes a worker, waiting in the queue until one is free or ctx ends.
func (p *Pool) Acquire(ctx context.Context) error {
	p.mu.Lock()
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
	select {
	case <-turn: // a worker came at the same moment: pass it on
		p.busy--
		p.hand()
	default:
		p.queue.Remove(place)
	}
	return ctx.Err()
}

// Release gives a worker back.
func (p *Pool) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
	p.hand()
}

// Resize changes the number of workers. Those lost while they work finish
// first.
func (p *Pool) Resize(workers int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live = workers
	p.hand()
}

// hand gives free workers to those who wait, in order.
func (p *Pool) hand() {
	for p.busy < p.live && p.queue.Len() > 0 {
		close(p.queue.Remove(p.queue.Front()).(chan struct{}))
		p.busy++
	}
}

// Stats is the state of the pool as the engine asks for it.
func (p *Pool) Stats() engine.WorkerStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return engine.WorkerStats{Busy: min(p.busy, p.live), Queued: p.queue.Len(), Live: p.live, At: time.Now()}
}
