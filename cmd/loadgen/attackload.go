package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/arrival"
	"github.com/weir-go/weir/cmd/loadgen/internal/replay"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
)

// load is the requests of an attack, drawn as they are needed.
type load struct {
	plan  arrival.Plan
	left  int64
	asks  []ask
	total int // of the asks' weights
	users []string
	zipf  *rand.Zipf
	rng   *rand.Rand
	body  string
	n     int64

	events []replay.Event // replayed: one for each time of the plan
}

// ask is one kind of request.
type ask struct {
	class        engine.Class
	weight       int
	method, path string
}

// load checks the flags and builds the load. All errors come at once.
func (o *attackOptions) load() (*load, error) {
	l := &load{left: o.count, rng: rand.New(rand.NewPCG(o.seed, 0x61747461636b)), body: o.body}
	var errs []error
	fail := func(err error) { errs = append(errs, err) }
	check := func(ok bool, format string, args ...any) {
		if !ok {
			fail(fmt.Errorf(format, args...))
		}
	}
	check(o.duration > 0, "-duration %v: must be above 0", o.duration)
	check(o.timeout > 0, "-timeout %v: must be above 0", o.timeout)
	check(o.maxInFlight > 0 && o.maxInFlight <= 1<<20, "-max-in-flight %d: must be from 1 to %d", o.maxInFlight, 1<<20)
	check(o.connections > 0 && o.connections <= 1024, "-connections %d: must be from 1 to 1024", o.connections)
	check(o.count >= 0, "-count %d: must not be negative", o.count)
	check(o.zipf == 0 || o.zipf > 1 && !math.IsInf(o.zipf, 1), "-zipf %v: must be 0 or above 1", o.zipf)
	if o.count == 0 {
		l.left = math.MaxInt64
	}
	var err error
	if o.objectives, err = parseObjectives(o.slo); err != nil {
		fail(err)
	}
	fail(l.setUsers(o))
	fail(l.setAsks(o.requests))
	if o.replay != "" {
		fail(l.setReplay(o))
	} else {
		fail(l.setPlan(o))
	}
	return l, errors.Join(errs...)
}

func (l *load) setUsers(o *attackOptions) (err error) {
	switch {
	case o.usersFile != "":
		if l.users, err = readLines(o.usersFile); err != nil {
			return fmt.Errorf("-users-file: %w", err)
		}
		if len(l.users) == 0 {
			return fmt.Errorf("-users-file %s: no user in it", o.usersFile)
		}
	case o.users < 1 || o.users > 10_000_000:
		return fmt.Errorf("-users %d: must be from 1 to 10,000,000", o.users)
	default:
		l.users = make([]string, o.users)
		for i := range l.users {
			l.users[i] = "u" + strconv.Itoa(i)
		}
	}
	if o.zipf > 1 {
		l.zipf = rand.NewZipf(l.rng, o.zipf, 1, uint64(len(l.users)-1))
	}
	return nil
}

func (l *load) setAsks(requests []string) error {
	if len(requests) == 0 {
		requests = []string{"read 1 GET /"}
	}
	var errs []error
	for _, s := range requests {
		f := strings.Fields(s)
		if len(f) != 4 || !strings.HasPrefix(f[3], "/") {
			errs = append(errs, fmt.Errorf("-request %q: write 'CLASS WEIGHT METHOD /PATH'", s))
			continue
		}
		class, ok := engine.ParseClass(f[0])
		if !ok {
			errs = append(errs, fmt.Errorf("-request %q: no class %q; there are test, read, write and critical", s, f[0]))
		}
		weight, err := strconv.Atoi(f[1])
		if err != nil || weight < 1 || weight > 1e6 {
			errs = append(errs, fmt.Errorf("-request %q: weight %q: must be a whole number from 1 to 1,000,000", s, f[1]))
		}
		l.total += weight
		l.asks = append(l.asks, ask{class, weight, strings.ToUpper(f[2]), f[3]})
	}
	return errors.Join(errs...)
}

func (l *load) setPlan(o *attackOptions) error {
	curve, err := o.curve()
	if err != nil {
		return err
	}
	switch o.arrivals {
	case "even":
		l.plan = arrival.Even(curve, o.duration)
	case "poisson":
		l.plan = arrival.Poisson(curve, o.seed, o.duration)
	default:
		return fmt.Errorf("-arrivals %q: must be even or poisson", o.arrivals)
	}
	return nil
}

// curve reads -rate and -shape.
func (o *attackOptions) curve() (arrival.Curve, error) {
	r, err := arrival.ParseRate(o.rate)
	if err != nil {
		return nil, fmt.Errorf("-rate: %w", err)
	}
	kind, args, _ := strings.Cut(o.shape, ":")
	bad := func(err error) (arrival.Curve, error) { return nil, fmt.Errorf("-shape %q: %w", o.shape, err) }
	// parts reads RATE@TIME.
	parts := func(s string) (float64, time.Duration, error) {
		rate, d, ok := strings.Cut(s, "@")
		if !ok {
			return 0, 0, fmt.Errorf("%q: write RATE@TIME, such as 50/s@10s", s)
		}
		r, err := arrival.ParseRate(rate)
		if err != nil {
			return 0, 0, err
		}
		t, err := time.ParseDuration(d)
		if err != nil || t <= 0 {
			return 0, 0, fmt.Errorf("%q is no time above 0", d)
		}
		return r.PerSecond(), t, nil
	}
	var c arrival.Curve
	switch kind {
	case "constant":
		c = arrival.Constant(r)
	case "ramp":
		to, err := arrival.ParseRate(args)
		if err != nil {
			return bad(err)
		}
		c = arrival.Ramp{From: r.PerSecond(), To: to.PerSecond(), Over: o.duration}
	case "step":
		var steps arrival.Steps
		for s := range strings.SplitSeq(args, ",") {
			rate, d, err := parts(s)
			if err != nil {
				return bad(err)
			}
			steps = append(steps, arrival.Step{Rate: rate, For: d})
		}
		c = steps
	case "sine":
		swing, period, err := parts(args)
		if err != nil {
			return bad(err)
		}
		c = arrival.Sine{Mean: r.PerSecond(), Amp: swing, Period: period}
	default:
		return bad(errors.New("must be constant, ramp:TO, step:RATE@TIME,RATE@TIME or sine:SWING@PERIOD"))
	}
	if err := arrival.Check(c); err != nil {
		return bad(err)
	}
	return c, nil
}

func (l *load) setReplay(o *attackOptions) error {
	if !(o.speed > 0) || math.IsInf(o.speed, 1) {
		return fmt.Errorf("-speed %v: must be above 0", o.speed)
	}
	columns, err := replay.ParseColumns(o.columns)
	if err != nil {
		return fmt.Errorf("-columns: %w", err)
	}
	f, err := os.Open(o.replay)
	if err != nil {
		return fmt.Errorf("-replay: %w", err)
	}
	defer f.Close()
	events, _, err := replay.Read(f, replay.Auto, columns)
	if err != nil {
		return fmt.Errorf("-replay %s: %w", o.replay, err)
	}
	times := make([]time.Duration, len(events))
	for i, e := range events {
		times[i] = e.At.Sub(events[0].At)
	}
	l.events, l.plan = events, arrival.Replay(times, o.speed, o.duration)
	return nil
}

// next draws the next request.
func (l *load) next() (*target.Request, bool) {
	r := &target.Request{}
	return r, l.fill(r)
}

// fill is next for a request whose memory is used again.
func (l *load) fill(r *target.Request) bool {
	if l.left == 0 {
		return false
	}
	due, ok := l.plan.Next()
	if !ok {
		return false
	}
	l.left--
	r.Due, r.ID = due, strconv.FormatInt(l.n, 10)
	l.n++
	if l.events != nil {
		e := l.events[0]
		l.events = l.events[1:]
		r.Class, r.User, r.Method, r.Path = methodClass(e.Method), e.User, e.Method, e.Path
		if !strings.HasPrefix(r.Path, "/") {
			r.Path = "/" // "*", a proxy's absolute URL, or none
		}
	} else {
		a := l.ask()
		r.Class, r.User, r.Method, r.Path = a.class, l.user(), a.method, a.path
		r.Path = target.ForUser(r.Path, r.User)
	}
	if r.Method != "GET" && r.Method != "HEAD" {
		r.Body = target.ForUser(l.body, r.User)
	}
	return true
}

func (l *load) ask() *ask {
	if len(l.asks) == 1 {
		return &l.asks[0]
	}
	n := l.rng.IntN(l.total)
	for i := range l.asks {
		if n -= l.asks[i].weight; n < 0 {
			return &l.asks[i]
		}
	}
	return &l.asks[0] // cannot be: the weights sum to total
}

func (l *load) user() string {
	if l.zipf != nil {
		return l.users[l.zipf.Uint64()]
	}
	return l.users[l.rng.IntN(len(l.users))]
}

// methodClass is the class of a request of which only the method is known.
func methodClass(method string) engine.Class {
	switch method {
	case "GET", "HEAD", "OPTIONS":
		return engine.Read
	}
	return engine.Write
}

func nonEmptyLines(s string) (lines []string) {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
