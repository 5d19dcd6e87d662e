package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/shop"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/plant"
	"github.com/weir-go/weir/ladder"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirhttp"
)

const (
	// realSpeed is how many times as fast a scenario goes by on a real server: its
	// half hour takes five minutes and ticks are 200 ms.
	realSpeed = 5
	// What is asked of the damped ladder there. Fewer requests make up a tick, so
	// the level turns more often than in virtual time.
	realTurns    = 8
	realTurnsSix = 14 // of a load with six humps
	// realSkipped is the share of the load that the generator may fail to offer, on
	// a busy machine, before the run proves nothing.
	realSkipped = 0.01
)

// realResult is what became of a scenario on a real server. Times are in
// seconds of that run.
type realResult struct {
	Scenario        string        `json:"scenario"`
	Controller      string        `json:"controller"`
	Seed            uint64        `json:"seed"`
	Speed           float64       `json:"speed"`
	Requests        int           `json:"requests"` // first attempts since the incident began
	Skipped         float64       `json:"skipped_pct"`
	Goodput         float64       `json:"goodput_pct"`
	CriticalGoodput float64       `json:"critical_goodput_pct"`
	CriticalShed    uint64        `json:"critical_shed"`
	Reversals       int           `json:"reversals"`
	Peak            float64       `json:"peak_level"`
	Reopened        bool          `json:"reopened"`
	Full            float64       `json:"full_s"`
	Missed          []string      `json:"missed"`
	Trace           []plant.Point `json:"trace,omitempty"`
}

// realServer is the service of a scenario over net/http: a handler holds one of
// the pool's workers for as long as the scenario says.
type realServer struct {
	scenario plant.Scenario
	pool     *shop.Pool
	start    time.Time

	mu   sync.Mutex
	rng  *rand.Rand
	cold []time.Time // when each requester was last shed; nil: nobody comes back cold
}

func (s *realServer) now() float64 { return time.Since(s.start).Seconds() }

// ServeHTTP works on one request, after waiting for a worker for as long as the
// scenario's clients do.
func (s *realServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who, err := strconv.Atoi(r.URL.Query().Get("who"))
	if err != nil || who < 0 || who >= ladder.Tiers*s.scenario.Keys.Count {
		http.Error(w, "who: must be a requester's number", http.StatusBadRequest)
		return
	}
	patience := time.Duration(s.scenario.QueueDeadlineMS * float64(time.Millisecond))
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	err = s.pool.Acquire(ctx)
	cancel()
	switch {
	case errors.Is(err, shop.ErrQueueFull):
		http.Error(w, "queue full", http.StatusInternalServerError)
	case err != nil:
		http.Error(w, "waited too long", http.StatusGatewayTimeout)
	default:
		time.Sleep(s.service(who))
		s.pool.Release()
	}
}

// service is for how long a requester's request keeps a worker.
func (s *realServer) service(who int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	took := s.rng.ExpFloat64() * s.scenario.ServiceMeanMS / 1e3 * s.scenario.ServiceMult.At(s.now())
	if c := s.scenario.ColdRestore; c != nil && !s.cold[who].IsZero() {
		took *= 1 + (c.Mult-1)*math.Exp(-time.Since(s.cold[who]).Seconds()/c.TauS)
	}
	return time.Duration(took * float64(time.Second))
}

// realClasses are the classes of a scenario's tiers.
var realClasses = [ladder.Tiers]engine.Class{engine.Test, engine.Read, engine.Write, engine.Critical}

// playReal plays a scenario, realSpeed times as fast, against a real server with
// a real pool of workers behind the engine's ladder.
func playReal(ctx context.Context, s plant.Scenario, law ladder.Config, seed uint64, progress func(string)) (res realResult, err error) {
	s, law = plant.Compress(s, law, realSpeed)
	law.Tick = time.Duration(s.TickMS * float64(time.Millisecond))
	srv := &realServer{scenario: s, pool: shop.NewPool(s.Workers, s.QueueCap), rng: rand.New(rand.NewPCG(seed, 2))}
	if s.ColdRestore != nil {
		srv.cold = make([]time.Time, ladder.Tiers*s.Keys.Count)
	}
	e, err := engine.New(engine.Config{Workers: srv.pool.Stats, Ladder: engine.Ladder{Law: law}, MaxEntries: 1 << 10})
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	bind := policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		tier, _ := strconv.Atoi(a.Query("class")) // ours alone come here
		return engine.Request{Class: realClasses[tier&3], Claims: dst, Cohort: e.Key(a.Query("who")).P}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return res, err
	}
	server := &http.Server{Handler: weirhttp.Handler(e, bind)(srv)}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	defer func() {
		err = errors.Join(err, server.Close())
		if serve := <-failed; !errors.Is(serve, http.ErrServerClosed) {
			err = errors.Join(err, serve)
		}
	}()
	to, err := target.NewHTTP("http://"+l.Addr().String(), target.HTTPOptions{Timeout: 30 * time.Second})
	if err != nil {
		return res, err
	}
	defer to.Close()

	load := &realLoad{server: srv, crowd: plant.NewClients(&s, seed), flying: map[*target.Request]plant.Attempt{}}
	srv.start = time.Now().Add(20 * time.Millisecond)
	watching, unwatch := context.WithCancel(ctx)
	watched := make(chan []plant.Point)
	go func() { watched <- srv.watch(watching, e, law.Tick, progress) }()
	drive.Run(ctx, load.next, to, drive.Options{MaxInFlight: 1 << 13, Start: srv.start}, load.ended)
	unwatch()
	trace := <-watched

	r := plant.Result{Trace: trace}
	r.ReadTrace(&s)
	res = load.result()
	res.Scenario, res.Seed, res.Speed = s.Name, seed, realSpeed
	res.Reversals, res.Peak, res.Reopened, res.Full, res.Trace = r.Reversals, r.Peak, r.Reopened, r.Full, trace
	res.CriticalShed = e.Snapshot().Ladder.Refused[engine.Critical]
	res.judge()
	return res, ctx.Err()
}

// watch keeps the pool at the size that the scenario says and writes down the
// level, until ctx ends.
func (s *realServer) watch(ctx context.Context, e *engine.Engine, every time.Duration, progress func(string)) (trace []plant.Point) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return trace
		case <-tick.C:
		}
		t := s.now()
		s.pool.Resize(s.scenario.Slots(t))
		l := e.Snapshot().Ladder
		trace = append(trace, plant.Point{T: t, Level: l.Level, Signal: l.Reading})
		stats := s.pool.Stats()
		progress(fmt.Sprintf("%s: %.0f of %.0f s, level %.2f, %d of %d workers busy, %d wait",
			s.scenario.Name, t, s.scenario.DurationS, l.Level, stats.Busy, stats.Live, stats.Queued))
	}
}

// realLoad is the scenario's clients, sent to a server.
type realLoad struct {
	server *realServer

	mu       sync.Mutex
	crowd    *plant.Clients
	flying   map[*target.Request]plant.Attempt
	offered  int
	skipped  int
	requests [ladder.Tiers]int // first attempts since the incident began
	good     [ladder.Tiers]int
}

// next is the next attempt of any client, or none once the scenario is over.
func (l *realLoad) next() (*target.Request, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		t := l.crowd.Next()
		if t >= l.server.scenario.DurationS {
			return nil, false
		}
		a, ok := l.crowd.Take(t)
		if !ok {
			continue
		}
		if a.Tries == 0 && l.counts(a) {
			l.requests[a.Class]++
		}
		r := &target.Request{
			Due:    time.Duration(t * float64(time.Second)),
			Class:  realClasses[a.Class],
			Method: http.MethodGet,
			Path:   fmt.Sprintf("/work?class=%d&who=%d", a.Class, a.Requester),
		}
		l.flying[r] = a
		l.offered++
		return r, true
	}
}

func (l *realLoad) counts(a plant.Attempt) bool { return a.First >= l.server.scenario.IncidentS[0] }

// ended is told what became of an attempt.
func (l *realLoad) ended(e drive.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.flying[e.Request]
	delete(l.flying, e.Request)
	t := e.Ended.Seconds()
	switch {
	case e.Skipped != drive.NotSkipped:
		l.skipped++
	case e.Result.End == target.Served:
		if l.counts(a) && t-a.First <= l.server.scenario.SLOMS/1e3 {
			l.good[a.Class]++
		}
	case e.Result.End == target.Refused:
		l.server.shed(a.Requester)
		l.crowd.Shed(t, a)
	default:
		l.crowd.Failed(t, a)
	}
}

func (s *realServer) shed(who int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cold != nil {
		s.cold[who] = time.Now()
	}
}

func (l *realLoad) result() realResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	good, all := 0, 0
	for c := range l.requests {
		good, all = good+l.good[c], all+l.requests[c]
	}
	share := func(part, of int) float64 { return 100 * float64(part) / float64(max(of, 1)) }
	return realResult{
		Requests:        all,
		Skipped:         share(l.skipped, l.offered),
		Goodput:         share(good, all),
		CriticalGoodput: share(l.good[plant.Critical], l.requests[plant.Critical]),
	}
}

func (r *realResult) judge() {
	r.Missed = []string{}
	miss := func(bad bool, format string, args ...any) {
		if bad {
			r.Missed = append(r.Missed, fmt.Sprintf(format, args...))
		}
	}
	turns := realTurns
	if r.Scenario == "S7_sine" {
		turns = realTurnsSix
	}
	miss(r.Reversals > turns, "reversals %d, limit %d", r.Reversals, turns)
	miss(r.CriticalShed > 0, "critical requests shed %d, limit 0", r.CriticalShed)
	miss(!r.Reopened, "not reopened at the end")
	miss(r.Skipped > 100*realSkipped, "the load generator could not offer %.1f %% of the load", r.Skipped)
}

// realVerb is "loadgen ladder -real".
func realVerb(ctx context.Context, s plant.Scenario, controller string, seed uint64, asJSON, trace bool, stdout, stderr io.Writer) int {
	status := newStatus(stderr)
	r, err := playReal(ctx, s, controllers[controller](), seed, status.show)
	status.clear()
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(stderr, "loadgen ladder: stopped")
		return exitFail
	}
	if err != nil {
		fmt.Fprintln(stderr, "loadgen ladder:", err)
		return exitFail
	}
	r.Controller = controller
	if asJSON {
		shown := r
		if !trace {
			shown.Trace = nil
		}
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(shown)
	} else {
		err = r.print(stdout)
	}
	if err != nil {
		fmt.Fprintln(stderr, "loadgen ladder:", err)
		return exitFail
	}
	if controller == "damped" && len(r.Missed) > 0 {
		return exitFail
	}
	return exitOK
}

func (r *realResult) print(w io.Writer) error {
	last := 0.0
	if n := len(r.Trace); n > 0 {
		last = r.Trace[n-1].T
	}
	for _, row := range panel(r.Trace, last) {
		fmt.Fprintf(w, "  |%s\n", row)
	}
	_, err := fmt.Fprintf(w, "%s on a real server, %v times as fast, %s: %d reversals, peak %.2f, critical goodput %.1f %% of %.1f %% in all, %d critical shed, open %.0f s after the incident\n",
		r.Scenario, r.Speed, r.Controller, r.Reversals, r.Peak, r.CriticalGoodput, r.Goodput, r.CriticalShed, r.Full)
	for _, m := range r.Missed {
		fmt.Fprintln(w, "missed:", m)
	}
	return err
}
