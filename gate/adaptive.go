package gate

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	uber "go.uber.org/atomic"
)

// Outcome is how an admitted request ended.
type Outcome uint8

// The outcomes. An adaptive limit learns from Success and Dropped and passes
// over Ignored.
const (
	Success Outcome = iota // finished, whatever it answered
	Dropped                // overload: timed out, refused further in, panicked
	Ignored                // says nothing about load: the client went away
)

// AdaptiveConfig holds the bounds of an adaptive limit. The zero value of a
// field is its default.
type AdaptiveConfig struct {
	Initial int           // the limit to start from, Min to Max; 0 is 20, or the bound that is nearer
	Min     int           // never below, at least 1; 0 is 1
	Max     int           // never above; 0 is 1000
	Window  time.Duration // how long latencies are gathered for one step, at least 1 ms; 0 is 1 s
	// Tolerance is how much longer than the baseline a request may take before
	// that counts as queueing, at least 1; 0 is 1.5.
	Tolerance float64
}

const (
	minSamples = 10 // fewer latencies say nothing: the window stays open
	// A baseline is never raised by what is measured under load, or a long
	// incident would become the measure of health. Only when the limit has been at
	// its minimum for rebaseAfter windows, where there is nobody to queue behind,
	// is the baseline taken to have been measured too low (on cache hits, say); and
	// even then only up to rebaseMost times the shortest latency there was: what is
	// slower than that is an incident and not a mistake.
	rebaseAfter = 3
	rebaseMost  = 32
	backOff     = 0.9  // on a window with more than dropShare of its requests dropped
	dropShare   = 0.05 // below it drops are noise
	steepest    = 0.5  // one window at most halves the limit
	level       = 0.95 // a gradient below it shrinks, without allowance: no creeping up under mild overload
)

// Adaptive is a size for the gate that follows the latency: it grows
// while requests take as long as on an idle system and shrinks when they queue
// (the gradient of Netflix's concurrency-limits, with a baseline that neither
// drifts with a long incident nor pins the limit to its floor). Its methods are
// safe for concurrent use and do not allocate.
type Adaptive struct {
	limit uber.Float64 // first: it must be aligned to 64 bits where words have 32

	cfg AdaptiveConfig

	// The open window.
	until, count, dropped, sum, peak atomic.Int64

	mu       sync.Mutex // one step at a time
	base     float64    // latency without load, ns; 0: not known
	shortest float64    // of all windows' latencies, ns
	atMin    int        // windows in a row at the minimum with a bad gradient
}

// NewAdaptive returns a limit, or all that is wrong with its configuration.
func NewAdaptive(cfg AdaptiveConfig) (*Adaptive, error) {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf("gate: adaptive: "+format, args...)) }
	if cfg.Min == 0 {
		cfg.Min = 1
	}
	if cfg.Max == 0 {
		cfg.Max = 1000
	}
	if cfg.Initial == 0 {
		cfg.Initial = min(max(20, cfg.Min), cfg.Max)
	}
	if cfg.Window == 0 {
		cfg.Window = time.Second
	}
	if cfg.Tolerance == 0 {
		cfg.Tolerance = 1.5
	}
	if cfg.Min < 1 {
		add("min %d: must be at least 1", cfg.Min)
	}
	if cfg.Max < cfg.Min || cfg.Max > math.MaxInt32 {
		add("max %d: must be from min %d to %d", cfg.Max, cfg.Min, math.MaxInt32)
	}
	if cfg.Initial < cfg.Min || cfg.Initial > cfg.Max {
		add("initial %d: must be from min %d to max %d", cfg.Initial, cfg.Min, cfg.Max)
	}
	if cfg.Window < time.Millisecond {
		add("window %v: must be at least 1ms", cfg.Window)
	}
	if !(cfg.Tolerance >= 1) || math.IsInf(cfg.Tolerance, 0) {
		add("tolerance %v: must be at least 1", cfg.Tolerance)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	a := &Adaptive{cfg: cfg}
	a.limit.Store(float64(cfg.Initial))
	return a, nil
}

// Limit returns how many may be in flight now.
func (a *Adaptive) Limit() int { return int(a.limit.Load()) }

// Observe learns from a request that ended at now, on any clock that does not go
// back, after latency; so many were inside the gate when it did, itself included.
func (a *Adaptive) Observe(now, latency time.Duration, o Outcome, inside int) {
	for p := a.peak.Load(); int64(inside) > p && !a.peak.CompareAndSwap(p, int64(inside)); p = a.peak.Load() {
	}
	switch o {
	case Ignored:
		return
	case Dropped:
		a.dropped.Add(1)
	}
	a.sum.Add(int64(max(latency, 1)))
	if n := a.count.Add(1); n < minSamples || int64(now) < a.until.Load() || !a.mu.TryLock() {
		return
	}
	defer a.mu.Unlock()
	if int64(now) >= a.until.Load() {
		a.step(int64(now), int64(inside))
	}
}

// step closes the window and begins one with so many inside.
func (a *Adaptive) step(now, inside int64) {
	first := a.until.Swap(now+int64(a.cfg.Window)) == 0
	n, sum, dropped := a.count.Swap(0), a.sum.Swap(0), a.dropped.Swap(0)
	peak := a.peak.Swap(inside)
	if first || n == 0 {
		return // of a window whose beginning is not known
	}
	rtt := float64(sum) / float64(n)
	a.learn(rtt)
	old := a.limit.Load()
	next := old
	switch gradient := min(1, a.cfg.Tolerance*a.base/rtt); {
	case float64(dropped) > dropShare*float64(n):
		next = old * backOff
	case gradient < level:
		next = old * max(gradient, steepest)
	case float64(peak) >= old/2: // a limit that nobody meets has no reason to grow
		next = old + math.Sqrt(old)
	}
	a.limit.Store(min(max(next, float64(a.cfg.Min)), float64(a.cfg.Max)))
}

// learn keeps the baseline.
func (a *Adaptive) learn(rtt float64) {
	if a.shortest == 0 || rtt < a.shortest {
		a.shortest = rtt
	}
	switch {
	case a.base == 0 || rtt < a.base:
		// Where an incident has healed, the first latencies are still those of a
		// queue: near the old baseline, that is the one to go back to.
		if a.base, a.atMin = rtt, 0; rtt < 2*a.cfg.Tolerance*a.shortest {
			a.base = a.shortest
		}
	case a.limit.Load() > float64(a.cfg.Min) || a.cfg.Tolerance*a.base >= rtt:
		a.atMin = 0
	default:
		if a.atMin++; a.atMin >= rebaseAfter {
			a.base, a.atMin = min(rtt, a.shortest*rebaseMost), 0
		}
	}
}
