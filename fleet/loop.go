package fleet

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/weir-go/weir/engine"
)

// loop is the goroutines of a Fleet: one that ticks and folds, one for each call
// on its way (five for every shard and five beats at most), and a watchdog.
type loop struct {
	stop    chan struct{}
	results chan *call
	ended   chan struct{}
}

func (f *Fleet) run() {
	f.loop = loop{stop: make(chan struct{}), results: make(chan *call, maxTries*(2*len(f.lanes)+1)), ended: make(chan struct{}, 2)}
	f.ticked.Store(f.host.Now())
	go func() {
		defer func() { f.loop.ended <- struct{}{} }()
		f.check()
		for !f.guarded() {
			f.restart()
		}
	}()
	go func() {
		defer func() { f.loop.ended <- struct{}{} }()
		f.watch()
	}()
}

// guarded runs the loop; false: it ended by a fault of its own.
func (f *Fleet) guarded() (stopped bool) {
	defer func() {
		if r := recover(); r != nil {
			f.log.Error("fleet: the exchange failed and starts anew", "fault", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	f.ticks()
	return true
}

// restart begins again under a new name, as a process that starts does: whatever
// was on its way is forgotten, and every shard counts as cut off until it answers.
func (f *Fleet) restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats.restarts++
	f.newBoot()
	now := f.host.Now()
	f.ledger.flying, f.ledger.last = 0, f.ledger.beat.Tick
	for _, ln := range f.lanes {
		f.drop(ln)
		ln.batch, ln.seq, ln.told, ln.tries = nil, 0, 0, 0 // a call may have the batch still
		if !f.down(ln.id) {
			ln.failing = now
			f.cut(ln, now)
		}
		ln.retry = now
	}
}

func (f *Fleet) ticks() {
	timer := time.NewTimer(0) // the first report goes out at once
	first := true
	urgent := time.NewTimer(time.Hour)
	defer timer.Stop()
	defer urgent.Stop()
	hurried := f.host.Now() - minUrgent
	for {
		regular := false
		select {
		case <-f.loop.stop:
			return
		case <-timer.C:
			regular = true
		case <-f.ledger.wake:
			f.locked(func() bool { f.ledger.refused = true; return true })
			f.hurry(f.host.Now())
			continue
		case <-f.wake:
			if wait := hurried + minUrgent - f.host.Now(); wait > 0 {
				urgent.Reset(time.Duration(wait))
				continue
			}
			hurried = f.host.Now()
		case <-urgent.C:
			hurried = f.host.Now()
		case c := <-f.loop.results:
			if !f.locked(func() bool { return f.done(c, f.host.Now()) }) {
				continue
			}
		}
		f.locked(func() bool {
			for _, c := range f.step(f.host.Now(), regular) {
				go func() {
					f.do(c)
					f.loop.results <- c
				}()
			}
			if regular && first {
				first = false
				timer.Reset(time.Duration(f.rand.Float64() * float64(f.cfg.Period))) // a phase of its own
			} else if regular {
				timer.Reset(f.pause())
			}
			return true
		})
	}
}

// locked runs do under mu, which a fault of do does not leave locked.
func (f *Fleet) locked(do func() bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return do()
}

// watch cuts every shard off when the loop does not come round any more: what
// was the fleet's last word must not stand for ever.
func (f *Fleet) watch() {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	warned := false
	for {
		select {
		case <-f.loop.stop:
			return
		case <-every.C:
		}
		late := f.host.Now() - f.ticked.Load()
		if late < 3*f.cfg.patience() {
			warned = false
			continue
		}
		if !warned {
			warned = true
			f.log.Error("fleet: the exchange does not come round; limits go on by on_stale", "late", time.Duration(late))
		}
		if f.mu.TryLock() { // it may be the one who holds it
			now := f.host.Now()
			for _, ln := range f.lanes {
				if !f.down(ln.id) {
					ln.failing = now
					f.cut(ln, now)
				}
			}
			f.mu.Unlock()
		}
	}
}

// check looks at the store once, and says in the log what an operator should
// know. It refuses nothing: limits are enforced either way.
func (f *Fleet) check() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	r := f.cfg.Transport.Check(ctx, f.host.Wall())
	if r.Err != nil {
		f.log.Error("fleet: the store cannot be used; every limit goes on by its on_stale until it can", "error", r.Err)
	}
	for _, w := range r.Warnings {
		f.log.Warn("fleet: " + w)
	}
	if a := r.Ahead.Abs(); a > 2*time.Second {
		f.log.Warn("fleet: this clock and the store's are apart; shared buckets do not mind, calendar quotas begin their windows by this one",
			"store_ahead", r.Ahead)
	}
}

// Close implements engine.Syncer: it gives back what is leased and tells what
// was spent, in 250 ms or not at all.
func (f *Fleet) Close() error {
	f.mu.Lock()
	if f.closed || f.host == nil {
		f.closed = true
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	f.mu.Unlock()
	close(f.loop.stop)
	<-f.loop.ended
	<-f.loop.ended
	f.farewell()
	return f.cfg.Transport.Close()
}

func (f *Fleet) farewell() {
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 250*time.Millisecond)
	defer cancel()
	f.await(ctx)
	for c := f.goodbye(); len(c.lanes) > 0 && ctx.Err() == nil; c = f.goodbye() {
		f.cfg.Transport.Push(ctx, c.boot, c.batches)
	}
	f.ledger.leave(ctx, f)
}

// await takes the replies that are on their way, for 100 ms at most: a shard can
// not be told more before.
func (f *Fleet) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	for slices.ContainsFunc(f.lanes, func(ln *lane) bool { return ln.open && ln.tries > 0 && !f.down(ln.id) }) {
		select {
		case c := <-f.loop.results:
			f.done(c, f.host.Now())
		case <-ctx.Done():
			return
		}
	}
}

// goodbye makes the next of the last calls; one without lanes: all is said.
func (f *Fleet) goodbye() *call {
	f.collect()
	limits := *f.table.limits.Load()
	now := f.host.Now()
	for i := range f.table.Entries {
		e, s := &f.table.Entries[i], &f.table.sides[i]
		if id := e.Limit.Load(); id != 0 && limits[id].leased() && !s.queued && tokens(e.Word.Load(), limits[id].window(now)) > 0 {
			s.queued = true
			f.lanes[s.lane].queue = append(f.lanes[s.lane].queue, uint32(i))
		}
	}
	c := &call{boot: f.boot, sent: now}
	for _, ln := range f.lanes {
		if !ln.open && !f.down(ln.id) && f.last(ln, limits) {
			c.lanes, c.batches = append(c.lanes, ln), append(c.batches, ln.batch)
			ln.open = false
		}
	}
	return c
}

// last makes the lane's last batches: all that was spent, all that is leased.
func (f *Fleet) last(ln *lane, limits []*limit) bool {
	n := min(len(ln.queue), maxBatch)
	if n == 0 {
		return false
	}
	now := f.host.Now()
	ln.start(now, f.cfg.decay())
	for _, i := range ln.queue[:n] {
		e, s := &f.table.Entries[i], &f.table.sides[i]
		if f.handOn(ln, i, s) {
			continue
		}
		l := limits[e.Limit.Load()]
		spent, denied := s.untold(e)
		switch {
		case l.cfg.Kind == engine.InFlight && !s.listed, l.cfg.Kind != engine.InFlight && spent == 0 && denied == 0 && !l.leased():
			continue
		}
		f.add(ln, limits, i, now)
	}
	ln.queue = ln.queue[n:]
	return true
}
