package fleet_test

import (
	"container/heap"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleettest"
	"github.com/weir-go/weir/key"
)

const ms = int64(time.Millisecond)

// shards is a Transport that only says how many shards there are: a simulation
// carries the calls itself.
type shards int

func (s shards) Shards() int                                     { return int(s) }
func (shards) Push(context.Context, fleet.Boot, []*fleet.Batch)  {}
func (shards) Leave(context.Context, fleet.Boot, string) error   { return nil }
func (shards) Close() error                                      { return nil }
func (shards) Check(context.Context, time.Time) (r fleet.Report) { return r }
func (shards) Beat(context.Context, fleet.Boot, *fleet.Beat) (r fleet.BeatReply, err error) {
	return r, err
}

type event struct {
	at int64
	n  int
	do func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].n < e[j].n
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// world is a fleet, its store and the network between them in virtual time.
type world struct {
	t      testing.TB
	r      *rand.Rand
	now    int64
	queue  events
	events int

	store fleettest.Store
	skew  float64 // us by which the store's clock is ahead
	rtt   int64
	down  bool                                // the store does not answer
	quick bool                                // and that is known at once
	cut   func(instance int) bool             // nor does it answer these
	split func(instance int) *fleettest.Store // another store that these write to, if not nil
	lose  func(instance int) bool             // whose calls are executed, but not answered
	slow  func() int64                        // rtt, if not nil
	told  func(shard int, it *fleet.Item)     // sees every item that the store charges, if not nil
	cfg   fleet.Config
	boxes []*box
}

// box is an instance.
type box struct {
	w      *world
	id     int
	f      *fleet.Fleet
	shared map[string]engine.Shared
	alive  bool
	ticks  int // generation: a box that starts anew has other ticks

	wall  time.Duration   // by which its wall clock is off
	log   *slog.Logger    // nil: what it logs is lost
	watch func(items int) // sees the size of every batch, if not nil

	use   engine.GateUse
	lease engine.GateLease
}

func (b *box) Now() int64      { return b.w.now }
func (b *box) Wall() time.Time { return time.Unix(1e9, b.w.now).Add(b.wall) }
func (b *box) Logger() *slog.Logger {
	if b.log != nil {
		return b.log
	}
	return slog.New(slog.DiscardHandler)
}
func (b *box) GateUse() engine.GateUse {
	u := b.use
	b.use.Peak, b.use.Refused = b.use.Other, 0
	return u
}
func (b *box) LeaseGate(l engine.GateLease) { b.lease = l }

func newWorld(t testing.TB, n int, cfg fleet.Config, limits ...engine.Limit) *world {
	return worldOf(t, 42, n, cfg, limits...)
}

// worldOf is newWorld with another source of chance.
func worldOf(t testing.TB, seed uint64, n int, cfg fleet.Config, limits ...engine.Limit) *world {
	w := &world{t: t, r: rand.New(rand.NewPCG(seed, uint64(n))), rtt: ms, now: int64(time.Hour), cfg: cfg}
	if w.cfg.Transport == nil {
		w.cfg.Transport = shards(4)
	}
	if w.cfg.MaxKeys == 0 {
		w.cfg.MaxKeys = 64
	}
	for i := range n {
		w.boxes = append(w.boxes, &box{w: w, id: i})
		w.boxes[i].start(limits...)
	}
	return w
}

func rule(t testing.TB, l engine.Limit) (r bucket.Rule) {
	var err error
	switch l.Kind {
	case engine.TokenBucket:
		r, err = bucket.NewToken(l.Rate, l.Per, l.Burst)
	case engine.InFlight:
		r, err = bucket.NewFlight(l.Max)
	case engine.Quota:
		cal := bucket.NewCalendar(bucket.Day, time.UTC, 0)
		cal.Update(int64(time.Hour), time.Unix(1e9, int64(time.Hour)))
		r, err = bucket.NewQuota(l.Rate, cal)
	}
	require.NoError(t, err)
	return r
}

func (b *box) start(limits ...engine.Limit) {
	f, err := fleet.New(b.w.cfg)
	require.NoError(b.w.t, err)
	b.f, b.shared, b.alive = f, map[string]engine.Shared{}, true
	f.Manual(b, b.w.r.Uint64())
	for i, l := range limits {
		b.shared[l.Name], err = f.Bind(engine.Binding{ID: engine.LimitID(i + 1), Limit: l, Rule: rule(b.w.t, l)})
		require.NoError(b.w.t, err)
	}
	b.restartTicks()
}

// restartTicks starts the instance's ticks, which a world that has jumped has
// lost.
func (b *box) restartTicks() {
	b.ticks++
	gen := b.ticks
	var tick func()
	tick = func() {
		if !b.alive || b.ticks != gen {
			return
		}
		b.step(true)
		b.w.after(int64(b.f.Pause()), tick)
	}
	b.w.after(b.w.r.Int64N(int64(100*ms)), tick)
}

func (w *world) after(d int64, do func()) {
	w.events++
	heap.Push(&w.queue, event{w.now + d, w.events, do})
}

func (w *world) run(until int64) {
	for len(w.queue) > 0 && w.queue[0].at <= until {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.do()
	}
	w.now = until
}

var errCut = errors.New("cut off")

func (b *box) step(regular bool) {
	if !b.alive {
		return
	}
	for _, c := range b.f.Step(b.w.now, regular) {
		b.send(c)
	}
}

func (b *box) send(c *fleet.Call) {
	w, gen := b.w, b.ticks
	boot, batches, beat, timeout := c.Parts()
	rtt := w.rtt
	if w.slow != nil {
		rtt = w.slow()
	}
	lost := w.down || w.cut != nil && w.cut(b.id)
	noReply := w.lose != nil && w.lose(b.id) || rtt > int64(timeout)
	// The batch may be sent again, and changed for that, before it is executed.
	var sent []fleet.Batch
	for _, x := range batches {
		if b.watch != nil {
			b.watch(len(x.Items))
		}
		cp := *x
		cp.Items = append([]fleet.Item(nil), x.Items...)
		cp.Answers = nil
		sent = append(sent, cp)
	}
	var reply fleet.BeatReply
	var beatCopy fleet.Beat
	if beat != nil {
		beatCopy = *beat
	}
	w.after(rtt/2, func() {
		if lost {
			return
		}
		us := float64(w.now)/1e3 + 9e13 + w.skew
		store := &w.store
		if w.split != nil {
			if other := w.split(b.id); other != nil {
				store = other
			}
		}
		for i := range sent {
			store.Push(us, boot, &sent[i])
			for j := range sent[i].Items {
				if w.told != nil && sent[i].Prev < sent[i].Seq {
					w.told(sent[i].Shard, &sent[i].Items[j])
				}
			}
		}
		if beat != nil {
			reply = store.Beat(us, boot, &beatCopy)
		}
	})
	fail := lost || noReply
	wait := rtt
	if fail && !(lost && w.quick) {
		wait = int64(timeout)
	}
	w.after(wait, func() {
		if !b.alive || b.ticks != gen {
			return
		}
		for i, x := range batches {
			if fail {
				x.Err = errCut
				continue
			}
			x.Err, x.Now, x.Prev, x.Answers = nil, sent[i].Now, sent[i].Prev, sent[i].Answers
		}
		if fail {
			c.Answer(reply, errCut)
		} else {
			c.Answer(reply, nil)
		}
		if b.f.Done(c, w.now) {
			b.step(false)
		}
	})
}

// ask decides one request as the engine does.
func (b *box) ask(limit string, k key.Key, cost int64) (engine.SharedStep, engine.Handle) {
	s := b.shared[limit]
	step := s.Peek(k, b.w.now, cost)
	var h engine.Handle
	if step.Reason == engine.Admitted {
		step, h = s.Take(k, b.w.now, cost)
	}
	if step.Reason != engine.Admitted {
		s.Refused(k, step, b.w.now, cost)
	}
	if b.f.Hurried() {
		b.w.after(ms/5, func() { b.step(false) })
	}
	return step, h
}
