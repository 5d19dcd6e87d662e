package engine

import (
	"log/slog"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/weir-go/weir/gate"
	"github.com/weir-go/weir/ladder"
)

const (
	sampleWorkers = 100 * time.Millisecond // ten make a reading of the ladder's tick
	drainEvery    = 100 * time.Millisecond // notes to the log: what a person sees as at once
	spreadEvery   = 10 * time.Millisecond  // places of the gate going apart
	readCalendars = time.Second
	wallStep      = 100 * time.Millisecond // more than this is a step of the wall clock, not its slew
	wholeSweep    = time.Minute            // how soon counts of entries are renewed and table ids come free
	// maxSweep is how many lines a tick of the real clock visits at most. Every
	// millisecond, that is a table of 9 million entries in a minute (2.4 to a line);
	// a larger one takes longer, and New refuses rules that do not allow it.
	maxSweep = 64
)

// ticker does what is done by time and not by request. One goroutine runs it,
// or ManualClock.Advance.
type ticker struct {
	plan     *plan
	standing ladder.Standing
	sched    *ladder.SchedLatency

	mu     sync.Mutex // the ladder is read by Snapshot
	ladder *ladder.Ladder
	off    bool
	salt   uint32
	source string
	rung   int
	began  int64 // when the ladder last started anew
	lost   bool  // there has been no reading for Law.Grace, and that is logged

	last, sampled, stepped, drained, dated, spread int64
	wall                                           time.Time
	sweepDebt                                      float64
	faults                                         uint64
	unguarded                                      int64 // guarded by mu
	real                                           bool
}

func (t *ticker) init(e *Engine, cfg Config) {
	t.ladder = ladder.New(law(cfg))
	t.real = cfg.Clock == nil
	t.wall = e.time.Wall()
	if t.real {
		t.sched = ladder.NewSchedLatency()
	}
	t.sampled, t.stepped, t.drained, t.dated, t.spread = math.MinInt64/2, math.MinInt64/2, math.MinInt64/2, math.MinInt64/2, math.MinInt64/2
}

// due reports whether something is to be done again, and notes that it is done.
func due(last *int64, now int64, every time.Duration) bool {
	if now-*last < int64(every) {
		return false
	}
	*last = now
	return true
}

// tick runs everything that is due. What may fail for reasons of its own keeps
// nothing else from being done.
func (e *Engine) tick(now int64) {
	t := &e.ticker
	p := e.plan.Load()
	e.time.Publish(now)
	p.publish(now)
	if p != t.plan {
		t.mu.Lock()
		t.ladder.Reconfigure(law(p.cfg))
		t.mu.Unlock()
		t.plan = p
	}
	if w := p.cfg.Workers; w != nil && due(&t.sampled, now, sampleWorkers) {
		e.sampleWorkers(w, now)
	}
	if due(&t.stepped, now, law(p.cfg).Tick) {
		e.quietly(func() { e.stepLadder(p, now) })
	}
	if e.adaptive.Load() != nil {
		e.quietly(e.adapt)
	}
	if due(&t.spread, now, spreadEvery) {
		e.gate.Spread()
	}
	if l := e.lease.Load(); l != nil {
		l.saw(e.gate.Others())
	}
	e.quietly(func() { e.followWall(p, now) })
	e.sweep(p, now-t.last)
	if due(&t.drained, now, drainEvery) {
		e.drain(p)
	}
	if f := e.misuse.faults.Load(); f != t.faults {
		t.faults = f
		t.mu.Lock()
		t.unguarded += max(now-t.last, int64(tickEvery))
		t.mu.Unlock()
	}
	t.last = now
}

// adapt gives the gate the size that the adaptive limit has come to. While a Swap
// is under way the next tick does: the gate is the Swap's then.
func (e *Engine) adapt() {
	if !e.mu.TryLock() {
		return
	}
	defer e.mu.Unlock()
	if a := e.adaptive.Load(); a != nil {
		g := e.plan.Load().cfg.Gate
		e.bound(gate.Allocation(a.Limit(), g.Reserve), g.HardCap)
	}
}

// untilTick is how far a ManualClock may move before something is due.
func (e *Engine) untilTick() time.Duration {
	t, p, now := &e.ticker, e.plan.Load(), e.time.Now()
	next := int64(e.table.Span())
	if p.cfg.Workers != nil {
		next = min(next, max(t.sampled+int64(sampleWorkers)-now, 1))
	}
	if p.cfg.Workers != nil || p.cfg.Ladder.Signal != nil {
		next = min(next, max(t.stepped+int64(law(p.cfg).Tick)-now, 1))
	}
	return time.Duration(next)
}

func (e *Engine) sampleWorkers(f func() WorkerStats, now int64) {
	e.quietly(func() {
		s := f()
		if s.At.IsZero() {
			s.At = e.time.Time(now)
		}
		e.ticker.standing.Sample(s.Busy, s.Queued, s.Live, s.At)
	})
}

// stepLadder is one step of the law, and publishes its level.
func (e *Engine) stepLadder(p *plan, now int64) {
	t := &e.ticker
	off := Mode(e.layerMode[Worker].Load()).enabled() == 0
	t.mu.Lock()
	defer t.mu.Unlock()
	if off {
		// The kill switch ends an incident: switched on again, it starts anew.
		if !t.off {
			t.ladder = ladder.New(law(p.cfg))
			e.publishLevel(0)
		}
		t.off, t.began = true, now
		return
	}
	t.off = false
	r := e.reading(p)
	if r.OK && r.At.IsZero() {
		r.At = e.time.Time(now)
	}
	t.ladder.Tick(e.time.Time(now), r)
	grace := law(p.cfg).Grace
	lost := t.ladder.State().Blind && now-t.began > int64(grace)
	if lost && !t.lost && t.source != "" {
		e.say(slog.LevelWarn, "no reading from the load signal: the ladder opens", slog.String("source", t.source), slog.Duration("for", grace))
	}
	t.lost = lost
	e.publishLevel(t.ladder.Level())
}

// reading asks the signal. One that panics has nothing to say.
func (e *Engine) reading(p *plan) (r ladder.Reading) {
	t := &e.ticker
	e.quietly(func() {
		switch {
		case p.cfg.Ladder.Signal != nil:
			t.source = "signal"
			r = p.cfg.Ladder.Signal()
		case p.cfg.Workers != nil:
			t.source = "workers"
			r = t.standing.Read()
		case t.real:
			t.source = "scheduler"
			r = t.sched.Read()
		}
	})
	return r
}

// publishLevel makes the level what requests see. The salt is latched when the
// level leaves 0: an incident keeps its victims, and the next one has others.
func (e *Engine) publishLevel(level float64) {
	t := &e.ticker
	word := ladder.Word(e.level.Load())
	if level > 0 && uint32(word) == 0 {
		hour := strconv.FormatInt(e.time.Wall().Unix()/3600, 10)
		t.salt = uint32(e.hasher.Key("ladder", hour).H)
	}
	if level == 0 {
		e.level.Store(0)
	} else {
		e.level.Store(uint64(ladder.MakeWord(level, t.salt)))
	}
	if rung := int(math.Ceil(level)); rung != t.rung {
		e.say(slog.LevelInfo, "ladder moved", slog.Float64("level", level), slog.String("source", t.source))
		t.rung = rung
	}
}

// followWall moves the calendars on, once a second and whenever the wall clock
// was stepped.
func (e *Engine) followWall(p *plan, now int64) {
	t := &e.ticker
	wall := e.time.Wall().Round(0)
	stepped := wall.Sub(t.wall) - time.Duration(now-t.last)
	t.wall = wall
	if !due(&t.dated, now, readCalendars) && stepped.Abs() < wallStep {
		return
	}
	t.dated = now
	for i := range p.limits {
		if l := p.limits[i]; l.live && l.kind == Quota {
			e.quietly(func() { l.rule.Calendar().Update(now, wall) })
		}
	}
}

// sweep visits as many lines as it takes to see each of them in time.
func (e *Engine) sweep(p *plan, elapsed int64) {
	t := &e.ticker
	within := min(e.table.Span(), wholeSweep)
	t.sweepDebt += float64(e.table.Lines()) * float64(elapsed) / float64(within)
	limit := float64(e.table.Lines())
	if t.real {
		limit = maxSweep
	}
	n := min(t.sweepDebt, limit)
	e.table.Sweep(int(n), t.last+elapsed)
	t.sweepDebt = min(t.sweepDebt-math.Floor(n), limit)
}

// note is something to log that happened on the way of a request.
type note struct {
	level slog.Level
	msg   string
	what  string
}

func (e *Engine) logLater(level slog.Level, msg, what string) {
	e.notes.TryEnqueue(note{level, msg, what})
}

// drain tells what the way of a request has left to be told.
func (e *Engine) drain(p *plan) {
	e.quietly(func() {
		for n, ok := e.notes.TryDequeue(); ok; n, ok = e.notes.TryDequeue() {
			e.say(n.level, n.msg, slog.String("what", n.what))
		}
		for s, ok := e.samples.TryDequeue(); ok; s, ok = e.samples.TryDequeue() {
			attrs := []slog.Attr{
				slog.String("limit", e.LimitName(s.limit)), slog.String("class", s.class.String()),
				slog.String("reason", s.reason.String()), slog.Duration("retry_after", s.retry),
			}
			if p.cfg.Redact != nil {
				attrs = append(attrs, slog.String("key", p.cfg.Redact(s.key)))
			}
			e.say(slog.LevelInfo, "shadow limit would have refused", attrs...)
		}
	})
}
