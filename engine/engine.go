package engine

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/puzpuzpuz/xsync/v3"
	"github.com/weir-go/weir/gate"
	"github.com/weir-go/weir/key"
	"github.com/weir-go/weir/shard"
)

// Engine decides whether requests may start. Make one with New; all its methods
// are safe for concurrent use.
type Engine struct {
	// What Admit reads and nobody writes often.
	plan      atomic.Pointer[plan]
	time      *timeline
	table     *shard.Table
	lanes     *[lanes]lane
	tallies   []tally
	precise   bool
	hasher    key.Hasher
	level     atomic.Uint64 // a ladder.Word
	layerMode [numLayers]atomic.Uint64
	lease     atomic.Pointer[lease]

	gate gate.Gate
	// Guards the gate's bounds: its own, without a lease, are beside it.
	sizing              sync.Mutex
	allocation, hardCap int
	adaptive            atomic.Pointer[gate.Adaptive] // moves the gate's capacity, if configured

	// What tickets hold that hold more than one thing.
	records atomic.Pointer[[]*[chunk]record]
	growing sync.Mutex

	misuse   misuse
	open     []openTicket
	nextCell atomic.Uint32

	// What happens on the way of a request and is told later, by the ticker.
	samples *xsync.MPMCQueueOf[shadowed]
	notes   *xsync.MPMCQueueOf[note]

	// Guarded by mu: Swap, SetMode, Close.
	mu     sync.Mutex
	byName map[string]LimitID
	modes  map[string]Mode // of "all" and the layers, as set
	names  atomic.Pointer[[]*control]

	ticker ticker
	logger *slog.Logger
	stop   chan struct{}
	ended  chan struct{}
}

// openTickets is how many sampled tickets can be open at once.
const openTickets = 1<<8 - 1

// New returns an engine for the configuration, and starts its ticker, or an
// error that lists all that is wrong with it: every one names the limit, the
// field and the value.
func New(cfg Config) (*Engine, error) {
	if err := validate(cfg); err != nil {
		return nil, err
	}
	if cfg.MaxEntries == 0 {
		cfg.MaxEntries = 1 << 20
	}
	e := &Engine{
		time:    newTimeline(cfg.Clock),
		precise: cfg.PreciseClock,
		hasher:  key.NewHasher(cfg.Secret),
		open:    make([]openTicket, openTickets),
		samples: xsync.NewMPMCQueueOf[shadowed](1024),
		notes:   xsync.NewMPMCQueueOf[note](64),
		byName:  map[string]LimitID{},
		modes:   map[string]Mode{},
		logger:  cfg.Logger,
		stop:    make(chan struct{}),
		ended:   make(chan struct{}),
	}
	if e.logger == nil {
		e.logger = slog.New(slog.DiscardHandler)
	}
	e.lanes, e.tallies = new([lanes]lane), make([]tally, tallies())
	for i := range e.lanes {
		e.gate.Join(&e.lanes[i].places)
	}
	e.names.Store(&[]*control{nil})
	e.time.late = func(now int64) {
		if p := e.plan.Load(); p != nil {
			p.publish(now)
		}
	}
	e.table = shard.New(cfg.MaxEntries, e.time)
	e.ticker.init(e, cfg)
	if err := e.install(cfg); err != nil {
		return nil, err
	}
	e.hasher.Ahead(e.table.Homes(), e.plan.Load().entries())
	if cfg.Sync != nil {
		if err := cfg.Sync.Start(host{e}); err != nil {
			return nil, err
		}
	}
	e.run(cfg.Clock)
	return e, nil
}

// Must returns e, and panics when err is not nil. It is for engines whose
// configuration is written in the program.
func Must(e *Engine, err error) *Engine {
	if err != nil {
		panic(err)
	}
	return e
}

// Key returns the identity of the parts, by which this engine tells callers
// apart. It does not allocate, and takes parts of any number and length.
func (e *Engine) Key(parts ...string) key.Key { return e.hasher.Key(parts...) }

// Limit returns the handle of the named limit; ok is false when the
// configuration has none of that name. Resolve a name once, at wiring: the
// handle stays valid across Swap, and when a Swap removes the limit, claims on
// it pass.
func (e *Engine) Limit(name string) (id LimitID, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	id, ok = e.byName[name]
	return id, ok && e.plan.Load().limits[id].live
}

// LimitName returns the name of a limit, also after a Swap removed it; "" for a
// handle that was never given out.
func (e *Engine) LimitName(id LimitID) string {
	if names := *e.names.Load(); id != 0 && int(id) < len(names) {
		return names[id].name
	}
	return ""
}

// at is now in the units of a token bucket.
func (e *Engine) at(l *limit) uint64 {
	if e.precise {
		return e.preciseAt(l)
	}
	return l.at.Load()
}

func (e *Engine) preciseAt(l *limit) uint64 { return l.rule.SpendAt(e.time.Now()) }

// now is the time that most decisions are made on.
func (e *Engine) now() int64 {
	if e.precise {
		return e.time.Now()
	}
	return e.time.published.Load()
}

// Close stops the ticker. Afterwards Admit answers by the limits' fail
// policies, and Done still works. Closing twice is fine.
func (e *Engine) Close() error {
	e.mu.Lock()
	p := *e.plan.Load()
	again := p.closed
	p.close()
	e.plan.Store(&p)
	e.mu.Unlock()
	if again {
		return nil
	}
	if c, ok := e.time.clock.(*ManualClock); ok {
		c.remove(e)
	} else {
		close(e.stop)
		<-e.ended
	}
	if p.cfg.Sync != nil {
		return p.cfg.Sync.Close()
	}
	return nil
}

// run starts the ticker: a goroutine, or the clock's own hand.
func (e *Engine) run(c Clock) {
	e.beat()
	if m, ok := c.(*ManualClock); ok {
		m.add(e)
		return
	}
	go func() {
		defer close(e.ended)
		t := time.NewTicker(tickEvery)
		defer t.Stop()
		for {
			select {
			case <-e.stop:
				return
			case <-t.C:
				e.beat()
			}
		}
	}()
}

// beat is one tick. Whatever is wrong inside, it must not end the process.
func (e *Engine) beat() {
	e.quietly(func() { e.tick(e.time.Now()) })
}

// lease bounds the gate by what the fleet allows this instance.
type lease struct {
	GateLease
	peak    atomic.Int64
	refused atomic.Uint64
}

// enter takes a place in the gate for the ticket, under the fleet's lease if
// there is one.
func (e *Engine) enter(t *draft, critical bool) bool {
	if l := e.lease.Load(); l != nil {
		if !e.enterLeased(t, l, critical) {
			return false
		}
	} else {
		if !e.gate.EnterBy(e.places(t), critical) {
			return false
		}
	}
	held := uint8(gateOther)
	if critical {
		held = gateCritical
	}
	t.door |= held
	return true
}

// enterAtOnce is enter for a request that is not critical, where a place lies ready.
// That is within whatever bounds the gate, a lease's end included.
func (e *Engine) enterAtOnce(t *draft) bool {
	if !e.places(t).TakeOther() {
		return false
	}
	t.door |= gateOther
	return true
}

// places is the stripe by which the ticket goes through the gate.
func (e *Engine) places(t *draft) *gate.Stripe { return &e.lane(t.lane()).places }

// leave gives the ticket's place in the gate back.
func (e *Engine) leave(t *draft) {
	if t.door&gateMask != 0 {
		e.gate.LeaveBy(e.places(t), t.door&gateMask == gateCritical)
		t.door &^= gateMask
	}
}

// wanted tells the fleet, if the gate is under a lease of its, of a request that
// the gate refuses and nothing refused before.
func (e *Engine) wanted(critical bool) {
	l := e.lease.Load()
	if l == nil || critical {
		return
	}
	l.refused.Add(1)
	e.quietly(func() { // the channel is the fleet's, which may have closed it
		select {
		case l.Wake <- struct{}{}:
		default:
		}
	})
}

// fits reports whether enter would let the request in now, and takes nothing.
func (e *Engine) fits(critical bool) bool {
	l := e.lease.Load()
	if l == nil {
		return e.gate.Fits(critical)
	}
	_, hard := e.gate.Limits()
	c, other := e.gate.Inside()
	total := l.total(hard)
	if critical && c < l.Critical {
		total = hard
	}
	allowed := min(l.Other, l.Fallback)
	if e.time.Now() <= l.Until {
		allowed = l.Other
	}
	return (total == 0 || c+other < total) && (critical || other < allowed)
}

// total is how many requests the lease and the gate's own hard cap let in; 0: no
// bound.
func (l *lease) total(hard int) int {
	if l.Total != 0 && (hard == 0 || l.Total < hard) {
		return l.Total
	}
	return hard
}

// enterLeased is enter under a lease. It reads the clock only for what the lease
// alone allows, for as long as it runs: after a pause of the process the published
// time is as old as the pause.
func (e *Engine) enterLeased(t *draft, l *lease, critical bool) bool {
	_, hard := e.gate.Limits()
	total := l.total(hard)
	switch {
	case critical && total == 0:
		return e.gate.EnterBy(e.places(t), true)
	case critical:
		if inside, _ := e.gate.Inside(); inside < l.Critical {
			total = hard
		}
		return e.gate.EnterWithin(true, 0, total)
	}
	sure, ok := min(l.Other, l.Fallback), false
	if total == 0 {
		ok = e.gate.EnterBy(e.places(t), false) // the gate is bounded by what is sure
	} else {
		ok = e.gate.EnterWithin(false, sure, total)
	}
	if !ok && l.Other > sure && e.time.Now() <= l.Until {
		ok = e.gate.EnterWithin(false, l.Other, total)
	}
	if ok && !e.gate.Apart() { // where places lie apart there is room, and the ticker looks
		l.saw(e.gate.Others())
	}
	return ok
}

// saw notes how many non-critical requests were inside.
func (l *lease) saw(other int) {
	for p := l.peak.Load(); int64(other) > p && !l.peak.CompareAndSwap(p, int64(other)); p = l.peak.Load() {
	}
}
