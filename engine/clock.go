package engine

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// Clock is the time an engine runs on.
type Clock interface {
	// Now is the time since an arbitrary start. It never goes back and does not
	// follow steps of the wall clock.
	Now() time.Duration
	// Wall is the time of day, which calendar quotas follow.
	Wall() time.Time
}

// tickEvery is how often the ticker publishes the time.
const tickEvery = time.Millisecond

// timeline is the engine's own time, in ns since its epoch: the real one, and
// the published one that most decisions are made on.
//
// Reading the clock takes longer than all the rest of a decision, so the ticker
// publishes it about every millisecond. A refusal is never decided on a
// published time, and the published time only moves forward. Hence, with D the
// largest age of a published time when it is used (the ticker's lateness plus
// the requester's own stall), no key is granted more than
// burst + rate*L + min(burst, rate*D) in any real interval L, and nothing is
// refused falsely.
type timeline struct {
	_         [64]byte
	published atomic.Int64
	_         [56]byte

	// late is told when the published time moves on by more than a tick's step: then
	// the ticker is late.
	late  func(now int64)
	clock Clock     // nil: the real one
	epoch time.Time // of the real one; a package variable would lie outside a testing/synctest bubble
	base  time.Duration
}

func newTimeline(c Clock) *timeline {
	t := &timeline{late: func(int64) {}, clock: c, epoch: time.Now()}
	if c != nil {
		t.base, t.epoch = c.Now(), c.Wall().Round(0)
	}
	return t
}

// Now reads the clock.
func (t *timeline) Now() int64 {
	if t.clock == nil {
		return int64(time.Since(t.epoch))
	}
	return int64(t.clock.Now() - t.base)
}

// Wall reads the time of day.
func (t *timeline) Wall() time.Time {
	if t.clock == nil {
		return time.Now()
	}
	return t.clock.Wall()
}

// Time is the moment now as a time.Time of which only differences mean
// anything.
func (t *timeline) Time(now int64) time.Time { return t.epoch.Add(time.Duration(now)) }

// Publish makes the published time at least now.
func (t *timeline) Publish(now int64) {
	for {
		old := t.published.Load()
		if old >= now {
			return
		}
		if t.published.CompareAndSwap(old, now) {
			if now-old > int64(tickEvery) {
				t.late(now)
			}
			return
		}
	}
}

// instant is the published time in a bucket's own units. Every decision on the bucket
// reads it and the ticker writes it: nothing else is on its cache line, since the
// allocator begins blocks of whole lines at one.
//
// Units go round a ring, on which a time after a long standstill may lie behind an
// earlier one: which of two is later, only ns tell.
type instant struct {
	atomic.Uint64
	now atomic.Int64 // the same in ns; changed with mu held
	mu  sync.Mutex
	_   [64 - 16 - unsafe.Sizeof(sync.Mutex{})]byte
}

// publish makes the bucket's published time at least now.
func (l *limit) publish(now int64) {
	if l.at == nil || l.at.now.Load() >= now {
		return
	}
	l.at.mu.Lock()
	defer l.at.mu.Unlock()
	if l.at.now.Load() < now {
		l.at.Store(l.rule.SpendAt(now))
		l.at.now.Store(now)
	}
}

// publish makes every bucket's published time at least now.
func (p *plan) publish(now int64) {
	for _, l := range p.paced {
		l.publish(now)
	}
}

// sleep waits for d or until ctx ends. On a ManualClock, d passes when it is
// moved.
func (t *timeline) sleep(ctx context.Context, d time.Duration) error {
	var due <-chan time.Time
	if m, ok := t.clock.(*ManualClock); ok {
		due = m.after(d)
	} else {
		timer := time.NewTimer(d)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-due:
		return nil
	}
}

// ManualClock is a Clock that stands still until it is moved, for tests and
// simulations. Moving it runs the ticks of the engines on it, in the caller's
// goroutine. Its methods are safe for concurrent use; the zero value begins at
// the zero time of day.
type ManualClock struct {
	moving sync.Mutex // one move at a time

	mu       sync.Mutex
	now      time.Duration
	wall     time.Time
	tickers  map[*Engine]struct{}
	sleepers []sleeper
}

// sleeper is somebody who waits for a time.
type sleeper struct {
	at time.Duration
	c  chan time.Time
}

// NewManualClock returns a clock whose time of day is wall.
func NewManualClock(wall time.Time) *ManualClock {
	return &ManualClock{wall: wall}
}

// Now returns the time since the clock was made.
func (c *ManualClock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Wall returns the time of day.
func (c *ManualClock) Wall() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall
}

// Advance moves the clock by d, 0 or more, and runs every tick that falls due on
// the way.
func (c *ManualClock) Advance(d time.Duration) {
	c.moving.Lock()
	defer c.moving.Unlock()
	now := c.Now()
	for end := now + forward(now, d); ; now = c.Now() {
		step := end - now
		engines := c.engines()
		for _, e := range engines {
			step = min(step, e.untilTick())
		}
		c.move(step)
		for _, e := range engines {
			e.beat()
		}
		if now+step >= end {
			return
		}
	}
}

// Drift moves the clock by d, 0 or more, without running any tick: what an
// engine sees whose ticker gets no processor.
func (c *ManualClock) Drift(d time.Duration) { c.move(d) }

// StepWall moves the time of day alone, by any d, as an operator does who sets
// the clock.
func (c *ManualClock) StepWall(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
}

// forward is as much of d as a clock at now can move: not back, and not past the
// last of its times.
func forward(now, d time.Duration) time.Duration { return min(max(d, 0), math.MaxInt64-now) }

func (c *ManualClock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d = forward(c.now, d)
	c.now += d
	c.wall = c.wall.Add(d)
	c.sleepers = slices.DeleteFunc(c.sleepers, func(s sleeper) bool {
		if s.at > c.now {
			return false
		}
		s.c <- c.wall
		return true
	})
}

// after returns a channel that gets the time once d has passed.
func (c *ManualClock) after(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := sleeper{c.now + forward(c.now, max(d, 1)), make(chan time.Time, 1)}
	c.sleepers = append(c.sleepers, s)
	return s.c
}

func (c *ManualClock) engines() []*Engine {
	c.mu.Lock()
	defer c.mu.Unlock()
	es := make([]*Engine, 0, len(c.tickers))
	for e := range c.tickers {
		es = append(es, e)
	}
	return es
}

func (c *ManualClock) add(e *Engine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tickers == nil {
		c.tickers = map[*Engine]struct{}{}
	}
	c.tickers[e] = struct{}{}
}

func (c *ManualClock) remove(e *Engine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tickers, e)
}
