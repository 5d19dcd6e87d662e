package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/arrival"
	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/record"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

// attack is a run and what became of it.
type attack struct {
	options *attackOptions
	load    *load
	started time.Time
	took    time.Duration
	stopped bool // by the user
	classes [engine.Critical + 1]*drive.Counts
	seconds []second
	invalid string // why the figures cannot be trusted; "" when they can
	missed  []string

	log      *record.Log
	file     *os.File
	interval [engine.Critical + 1]*record.Histogram // since the last line of the log
	logged   time.Duration
	logErr   error
}

// second is what was due in one second of the run.
type second struct {
	Offered, Served, Refused, Other int64
	Worst                           time.Duration
}

func newAttack(o *attackOptions, l *load) *attack {
	return &attack{options: o, load: l, started: time.Now()}
}

// maxSeconds bounds what is kept of a run that goes on for weeks.
const maxSeconds = 7 * 24 * 3600

// add counts one event.
func (a *attack) add(e *drive.Event) {
	c := &a.classes[e.Request.Class]
	if *c == nil {
		*c = drive.NewCounts()
	}
	(*c).Add(e)
	i := min(int(e.Request.Due/time.Second), maxSeconds)
	for len(a.seconds) <= i {
		a.seconds = append(a.seconds, second{})
	}
	s := &a.seconds[i]
	s.Offered++
	switch {
	case e.Skipped == drive.NotSkipped && e.Result.End == target.Served:
		s.Served++
	case e.Skipped == drive.NotSkipped && e.Result.End == target.Refused:
		s.Refused++
	default:
		s.Other++
	}
	if e.Skipped == drive.NotSkipped && e.Result.End != target.Refused && e.Result.End != target.Stopped {
		s.Worst = max(s.Worst, e.Response())
		a.logLatency(e)
	}
}

// total is all classes together.
func (a *attack) total() *drive.Counts {
	sum := drive.NewCounts()
	for _, c := range a.classes {
		if c != nil {
			sum.Merge(c)
		}
	}
	return sum
}

func (a *attack) status(line *status) {
	line.showFunc(func() string {
		var offered, served, refused, other int64
		for _, s := range a.seconds {
			offered, served, refused, other = offered+s.Offered, served+s.Served, refused+s.Refused, other+s.Other
		}
		return fmt.Sprintf("%.0f of %v: %d offered, %d served, %d refused, %d otherwise",
			time.Since(a.started).Seconds(), a.options.duration, offered, served, refused, other)
	})
}

// The shares below which a run says more about the generator than about what
// it drove.
const (
	minSent = 0.99
	maxLate = 0.01
)

// finish judges the run.
func (a *attack) finish(stopped bool) {
	a.took, a.stopped = time.Since(a.started), stopped
	sum := a.total()
	switch {
	case sum.Offered == 0:
		a.invalid = "nothing was offered"
	case float64(sum.Sent) < minSent*float64(sum.Offered) && sum.AtCap > 0:
		a.invalid = fmt.Sprintf("%d of %d requests were skipped: %d on their way at once are not enough for this target (-max-in-flight)", sum.Skipped(), sum.Offered, a.options.maxInFlight)
	case float64(sum.Sent) < minSent*float64(sum.Offered):
		a.invalid = fmt.Sprintf("the generator cannot hold this rate: %d of %d requests were skipped", sum.Skipped(), sum.Offered)
	case float64(sum.Late) > maxLate*float64(sum.Sent):
		a.invalid = fmt.Sprintf("the generator fell behind: %d of %d requests were sent more than %v late", sum.Late, sum.Sent, drive.Late)
	}
	if a.invalid != "" {
		a.missed = append(a.missed, "invalid: "+a.invalid)
	}
	for _, o := range a.options.objectives {
		c := sum
		if o.class != engine.ClassUnset {
			c = a.classes[o.class]
		}
		if m := o.missed(c); m != "" {
			a.missed = append(a.missed, m)
		}
	}
}

func (o *attackOptions) inProcess() bool { return strings.HasPrefix(o.url, "engine") }

// target makes what the URL names, and what undoes it.
func (o *attackOptions) target() (target.Target, func(), error) {
	header, err := o.header()
	if err != nil {
		return nil, nil, err
	}
	switch {
	case o.url == "":
		return nil, nil, errors.New("-url: missing")
	case o.inProcess():
		return o.engineTarget()
	case strings.HasPrefix(o.url, "grpc://"):
		g, err := target.NewGRPC(strings.TrimPrefix(o.url, "grpc://"), o.timeout, header, o.connections)
		if err != nil {
			return nil, nil, err
		}
		return g, func() { g.Close() }, nil
	}
	opts := target.HTTPOptions{Timeout: o.timeout, Header: header}
	if o.unix != "" {
		opts.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: o.timeout}).DialContext(ctx, "unix", o.unix)
		}
	}
	h, err := target.NewHTTP(o.url, opts)
	if err != nil {
		return nil, nil, err
	}
	return h, func() { h.Close() }, nil
}

func (o *attackOptions) header() (http.Header, error) {
	h := http.Header{}
	for _, s := range o.headers {
		name, value, ok := strings.Cut(s, ":")
		if name = strings.TrimSpace(name); !ok || name == "" || strings.ContainsAny(name, " \t\r\n") {
			return nil, fmt.Errorf("-header %q: write 'Name: value'", s)
		}
		h.Add(name, strings.TrimSpace(value))
	}
	return h, nil
}

// engineTarget is an engine in this process: that of a policy file, or one
// token bucket per user.
func (o *attackOptions) engineTarget() (target.Target, func(), error) {
	if o.policy != "" {
		p, err := policy.Load(o.policy)
		if err != nil {
			return nil, nil, err
		}
		e, err := engine.New(p.Config())
		if err != nil {
			return nil, nil, err
		}
		b, err := policy.New(e, p)
		if err != nil {
			return nil, nil, errors.Join(err, e.Close())
		}
		return target.NewEngine(e, b), func() { e.Close() }, nil
	}
	r, err := arrival.ParseRate(o.limit)
	if err != nil {
		return nil, nil, fmt.Errorf("-limit: %w", err)
	}
	e, err := engine.New(engine.Config{Limits: []engine.Limit{{Name: "per_user", Rate: r.N, Per: r.Per, Burst: o.burst}}})
	if err != nil {
		return nil, nil, err
	}
	id, _ := e.Limit("per_user")
	bind := policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		return engine.Request{Class: methodClass(a.Method()), Claims: append(dst, id.Claim(e.Key(a.Identity())))}
	})
	return target.NewEngine(e, bind), func() { e.Close() }, nil
}

// inline drives a target in this process. The load is dealt out to as many
// workers as there are processors, in turn.
func (a *attack) inline(ctx context.Context, to target.Target, line *status) {
	workers := runtime.GOMAXPROCS(0)
	parts := make([]*attack, workers)
	loads := make([]*load, workers)
	turn, made := make([]int, workers), make([]int, workers)
	var done atomic.Int64
	for w := range workers {
		// Every worker draws the whole load and skips what is not its own: the same
		// requests as one worker would have.
		l, err := a.options.load()
		if err != nil {
			panic("loadgen: flags that were right are wrong: " + err.Error())
		}
		parts[w], loads[w] = newAttack(a.options, l), l
	}
	watched, unwatch := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		tick := time.NewTicker(refreshEvery)
		defer tick.Stop()
		for {
			select {
			case <-unwatch:
				return
			case <-tick.C:
				line.show(fmt.Sprintf("%.0f of %v: %d decisions", time.Since(a.started).Seconds(), a.options.duration, done.Load()))
			}
		}
	}()
	drive.Inline(ctx, workers, func(w int, r *target.Request) bool {
		for {
			ok := loads[w].fill(r)
			mine := turn[w]%workers == w
			turn[w]++
			if !ok || mine {
				return ok
			}
		}
	}, to, func(w int, e *drive.Event) {
		parts[w].add(e)
		if made[w]++; made[w]%1024 == 0 {
			done.Add(1024)
		}
	})
	close(unwatch)
	<-watched
	for _, p := range parts {
		a.merge(p)
	}
}

func (a *attack) merge(o *attack) {
	for i, c := range o.classes {
		switch {
		case c == nil:
		case a.classes[i] == nil:
			a.classes[i] = c
		default:
			a.classes[i].Merge(c)
		}
	}
	for i, s := range o.seconds {
		if i == len(a.seconds) {
			a.seconds = append(a.seconds, second{})
		}
		t := &a.seconds[i]
		t.Offered, t.Served, t.Refused, t.Other = t.Offered+s.Offered, t.Served+s.Served, t.Refused+s.Refused, t.Other+s.Other
		t.Worst = max(t.Worst, s.Worst)
	}
}

// openLog begins the histogram log; "" is none.
func (a *attack) openLog(file string) (err error) {
	if file == "" {
		return nil
	}
	if a.options.inProcess() {
		return errors.New("-hlog: an engine in this process has no log")
	}
	if a.file, err = os.Create(file); err != nil {
		return err
	}
	a.log, err = record.NewLog(a.file, a.started, "loadgen attack "+a.options.url+", latency from when a request was due, ns")
	return err
}

// logLatency notes an end in the log's running second, which ends with the
// first event that ends after it.
func (a *attack) logLatency(e *drive.Event) {
	if a.log == nil {
		return
	}
	if e.Ended >= a.logged+time.Second {
		a.flushLog(e.Ended.Truncate(time.Second))
	}
	h := &a.interval[e.Request.Class]
	if *h == nil {
		*h = record.New()
	}
	(*h).Record(e.Response())
}

func (a *attack) flushLog(to time.Duration) {
	for class, h := range a.interval {
		if h == nil || h.Count() == 0 {
			continue
		}
		a.logErr = errors.Join(a.logErr, a.log.Interval(engine.Class(class).String(), a.logged, to, h))
		h.Reset()
	}
	a.logged = to
}

func (a *attack) closeLog() error {
	if a.log == nil {
		return nil
	}
	a.flushLog(max(a.logged, time.Duration(math.Ceil(time.Since(a.started).Seconds()))*time.Second))
	return errors.Join(a.logErr, a.file.Close())
}
