package fleet

import (
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/engine"
)

// Fleet shares an engine's limits with the other instances of a service. It
// implements engine.Syncer: make it with New, give it to the engine as
// Config.Sync, and the engine starts and closes it. One Fleet serves one engine.
type Fleet struct {
	cfg   Config
	table *table
	host  engine.SyncHost
	log   *slog.Logger

	// On the way of a request.
	count  atomic.Uint64 // bits of the number of instances
	dirty  atomic.Uint32 // top of the stack of entries with something to tell
	urged  atomic.Int64  // when the exchange was last hurried
	wake   chan struct{}
	downAt []atomic.Int64 // by lane: 1 + when it went down; 0: it is up

	// Everything below is guarded by mu, which no request takes.
	mu     sync.Mutex
	rand   *rand.Rand
	boot   Boot
	lanes  []*lane
	due    []dueKey // of the batch that is being built
	ledger ledger
	stats  stats
	trying int64        // when the instance last resolved to try again
	ticked atomic.Int64 // when the last tick was

	loop   loop
	closed bool
}

// stats are counters since the start.
type stats struct {
	acked, resent, duplicates, lost, deferred, failed, restarts uint64
	down                                                        int64 // ns, of shards that are up again
}

var _ engine.Syncer = (*Fleet)(nil)

// New returns a Fleet that is not started yet, or all that is wrong with the
// configuration. It does not touch the network.
func New(cfg Config) (*Fleet, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	f := &Fleet{cfg: cfg, table: newTable(cfg.MaxKeys), wake: make(chan struct{}, 1)}
	var seed [32]byte
	_, _ = crand.Read(seed[:])
	f.rand = rand.New(rand.NewChaCha8(seed))
	f.newBoot()
	f.lanes = make([]*lane, cfg.Transport.Shards())
	for i := range f.lanes {
		f.lanes[i] = &lane{id: i, acked: -1, wait: maxWait}
	}
	f.downAt = make([]atomic.Int64, len(f.lanes))
	f.setInstances(float64(max(1, cfg.Expected)))
	return f, nil
}

// newBoot takes a name that no instance ever had: the store's memory of the
// last one's batches and leases does not apply to what is sent from now on.
func (f *Fleet) newBoot() {
	binary.LittleEndian.PutUint64(f.boot[:8], f.rand.Uint64())
	binary.LittleEndian.PutUint64(f.boot[8:], f.rand.Uint64())
}

func (f *Fleet) instances() float64     { return math.Float64frombits(f.count.Load()) }
func (f *Fleet) setInstances(n float64) { f.count.Store(math.Float64bits(max(1, n))) }

func (f *Fleet) down(lane int) bool { return f.downAt[lane].Load() != 0 }

// shut reports whether the lane has been down for so long.
func (f *Fleet) shut(lane int, grace time.Duration) bool {
	at := f.downAt[lane].Load()
	return at != 0 && f.host.Now()-(at-1) >= int64(grace)
}

// Start implements engine.Syncer.
func (f *Fleet) Start(host engine.SyncHost) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.host != nil {
		return errors.New("fleet: started already: every engine needs a Fleet of its own")
	}
	f.host, f.log = host, host.Logger()
	f.ledger.begin(f, host.GateUse())
	f.run()
	return nil
}

// Bind implements engine.Syncer.
func (f *Fleet) Bind(b engine.Binding) (engine.Shared, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	old := *f.table.limits.Load()
	id := uint32(len(old))
	l := newLimit(f, id, b)
	prev := unwrap(b.Prev)
	if prev != nil && prev.op() == l.op() {
		l.id = prev.id
	} else {
		prev = nil
		f.changed(old, l)
	}
	all := append([]*limit(nil), old...)
	if prev != nil {
		l.spare = prev.spare
		l.overflowed.Store(prev.overflowed.Load())
		all[l.id] = l
	} else {
		all = append(all, l)
	}
	f.table.limits.Store(&all)
	if prev == nil {
		l.spare = f.table.overflow(l)
	}
	if l.cfg.Kind == engine.TokenBucket && !l.leased() && float64(f.cfg.Period)/1e3 > l.tau/2 && f.log != nil {
		f.log.Warn("fleet: the period is longer than half the time in which the bucket fills; the limit will be coarse",
			"limit", l.cfg.Name, "period", f.cfg.Period, "fills_in", time.Duration(l.tau*1e3))
	}
	switch {
	case l.leased():
		return lease{l}, nil
	case l.cfg.Kind == engine.InFlight:
		return hold{l}, nil
	}
	return share{l}, nil
}

// changed says in the log what it means that a limit is shared in another way than
// before, while other instances have the old one still.
func (f *Fleet) changed(all []*limit, l *limit) {
	for _, was := range slices.Backward(all) {
		switch {
		case was == nil || was.cfg.Name != l.cfg.Name:
			continue
		case was.op() == l.op():
		case was.op().Store() == l.op().Store():
			f.log.Info("fleet: a limit was made strict, or is no longer; either way it spends from one bucket, and until every instance has its new form the fleet keeps to what a shared one promises",
				"limit", l.cfg.Name)
		default:
			f.log.Warn("fleet: a limit counts anew, beside what was counted for its old form; until every instance has the new form, the fleet may admit what both admit",
				"limit", l.cfg.Name)
		}
		return
	}
}

func unwrap(s engine.Shared) *limit {
	switch s := s.(type) {
	case share:
		return s.limit
	case lease:
		return s.limit
	case hold:
		return s.limit
	}
	return nil
}

// mark puts an entry on the stack of those with something to tell: once until
// the exchange has taken it off.
func (f *Fleet) mark(e *entry, i uint32, now int64) {
	if !e.Link.CompareAndSwap(0, linkEnd) {
		return
	}
	for {
		top := f.dirty.Load()
		link := top
		if top == 0 {
			link = linkEnd
		}
		e.Link.Store(link)
		if f.dirty.CompareAndSwap(top, i+1) {
			break
		}
	}
	if e.When.Load() == 0 {
		f.hurry(now)
	}
}

// hurry wakes the exchange, every 10 ms at most. It never waits.
func (f *Fleet) hurry(now int64) {
	last := f.urged.Load()
	if now-last < minUrgent || !f.urged.CompareAndSwap(last, now) {
		return
	}
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// collect takes the stack, and queues its entries with their lanes.
func (f *Fleet) collect() {
	for next := f.dirty.Swap(0); next != 0 && next != linkEnd; {
		i := next - 1
		e := &f.table.Entries[i]
		next = e.Link.Load()
		e.Link.Store(linkTaken) // only who has taken it from the stack may write it
		f.table.locked(i, func(_ *entry, s *side) {
			if !s.queued {
				s.queued = true
				ln := f.lanes[s.lane]
				ln.queue = append(ln.queue, i)
			}
		})
	}
}
