package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/live"
	"github.com/weir-go/weir/cmd/loadgen/internal/record"
	"github.com/weir-go/weir/cmd/loadgen/internal/shop"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/ladder"
)

const liveHelp = `usage: loadgen live [flags]

The story as it happens, in a browser: a payments API under load, switches that
arm each layer, a flood to turn up, and things that break. Stop it with Ctrl-C.

  loadgen live -addr 127.0.0.1:8321

flags:
`

// liveScale is by how much the ladder's time is compressed on the page: slow
// enough to watch.
const liveScale = 10

func liveVerb(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := newFlagSet("live", stderr, liveHelp)
	addr := fs.String("addr", "127.0.0.1:8321", "where the page is served; port 0 takes any free one")
	seed := fs.Uint64("seed", 1, "what the traffic is drawn from")
	redisAddr := fs.String("redis", "", "share the request limit with a second instance over the Redis at this `address`, and let it fail")
	if code, ok := parseFlags(fs, args, stderr); !ok {
		return code
	}
	if _, _, err := net.SplitHostPort(*addr); err != nil {
		return usageError(stderr, "live", fmt.Errorf("-addr %q: %w", *addr, err))
	}
	show, err := newShow(setting{seed: *seed, scale: liveScale}, *redisAddr)
	if err != nil {
		fmt.Fprintln(stderr, "loadgen live:", err)
		return exitFail
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		fmt.Fprintln(stderr, "loadgen live:", errors.Join(err, show.close()))
		return exitFail
	}
	fmt.Fprintf(stdout, "Open http://%s in a browser. The shop itself is at %s. The ladder's time is compressed %d times.\n", l.Addr(), show.stage.url, liveScale)
	if err := show.run(ctx, l); err != nil {
		fmt.Fprintln(stderr, "loadgen live:", err)
		return exitFail
	}
	offered, served := show.sums()
	fmt.Fprintf(stdout, "Stopped. %d requests were offered, %d served.\n", offered, served)
	return exitOK
}

// show is a stage that goes on until it is stopped, and its controls.
type show struct {
	setting setting
	stage   *stage
	hub     live.Hub
	traffic *traffic
	sibling *sibling     // nil: there is no fleet
	syncer  *fleet.Fleet // of the stage's engine; nil: there is no fleet

	turning sync.Mutex // one knob at a time
	knobs   map[string]float64
	news    string

	mu      sync.Mutex // what was counted since the last sample
	classes [engine.Critical + 1]liveClass
	charges *record.Histogram
	offered int64
	served  int64
}

// liveClass is one class's part of a sample, in requests a second.
type liveClass struct {
	Offered  int `json:"offered"`
	Served   int `json:"served"`
	Limited  int `json:"limited"`
	Shed     int `json:"shed"`
	TimedOut int `json:"timed_out"`
}

func (c *liveClass) add(o liveClass) {
	c.Offered += o.Offered
	c.Served += o.Served
	c.Limited += o.Limited
	c.Shed += o.Shed
	c.TimedOut += o.TimedOut
}

// liveSample is what the page draws. Absent figures are null.
type liveSample struct {
	At         float64              `json:"at"` // seconds since the start
	Classes    map[string]liveClass `json:"classes"`
	Success    *float64             `json:"success"` // of charges, %
	Busy       int                  `json:"busy"`
	Queued     int                  `json:"queued"`
	Live       int                  `json:"live"`
	Level      float64              `json:"level"`
	Critical   int                  `json:"critical"`
	Other      int                  `json:"other"`
	Allocation int                  `json:"allocation"`
	P50        *float64             `json:"p50"`
	P99        *float64             `json:"p99"`
	Sync       string               `json:"sync,omitempty"`
}

// liveState is how the controls stand.
type liveState struct {
	Knobs map[string]float64 `json:"knobs"`
	News  string             `json:"news"`
	Fleet bool               `json:"fleet"` // there is a store that can fail
}

// newShow opens the stage; redisAddr is where the fleet meets, "" for none.
func newShow(s setting, redisAddr string) (*show, error) {
	sh := &show{
		setting: s, charges: record.New(), traffic: newTraffic(s.seed), news: "a quiet day",
		knobs: map[string]float64{"rate": 0, "concurrency": 0, "fleet": 0, "worker": 0, "flood": 0, "export": 0, "slow": 0, "loss": 0, "flap": 0},
	}
	var err error
	if redisAddr != "" {
		if sh.sibling, err = newSibling(redisAddr); err != nil {
			return nil, err
		}
		sh.knobs["outage"] = 0
		if sh.syncer, err = newSyncer(sh.sibling.link.Addr()); err != nil {
			return nil, errors.Join(err, sh.close())
		}
	}
	if sh.stage, err = newStage(s.seed, func(shop *shop.Shop) engine.Config { return sh.config(shop, false) }); err != nil {
		return nil, errors.Join(err, sh.close())
	}
	// The configuration has all layers; which of them are armed is a mode.
	for _, layer := range armed {
		if err := sh.stage.engine.SetMode(layer, engine.Off); err != nil {
			return nil, errors.Join(err, sh.close())
		}
	}
	return sh, nil
}

// close ends the stage and the fleet, as far as there are any.
func (sh *show) close() (err error) {
	if sh.stage != nil {
		err = sh.stage.close()
	}
	if sh.sibling != nil {
		err = errors.Join(err, sh.sibling.close())
	}
	return err
}

// armed are the layers' names, which are those of their switches.
var armed = []string{engine.Rate.String(), engine.Concurrency.String(), engine.Fleet.String(), engine.Worker.String()}

// config is everything that the four acts arm.
func (sh *show) config(s *shop.Shop, flap bool) engine.Config {
	c := baseConfig(s)
	for _, a := range story() {
		if h := a.halves[1]; h.arm != nil {
			h.arm(&c, sh.setting)
		}
	}
	if flap {
		c.Ladder.Law = ladder.Flap().Faster(sh.setting.scale)
	}
	if sh.syncer != nil {
		shareLimit(&c, sh.syncer)
	}
	return c
}

// liveEvery is how often the page gets a sample.
const liveEvery = 250 * time.Millisecond

// run serves the page on l and plays traffic until ctx ends.
func (sh *show) run(ctx context.Context, l net.Listener) error {
	to, err := target.NewHTTP(sh.stage.url, target.HTTPOptions{Timeout: patience})
	if err != nil {
		return errors.Join(err, l.Close(), sh.close())
	}
	defer to.Close()
	sh.turning.Lock()
	sh.tell()
	sh.turning.Unlock()
	srv := &http.Server{Handler: live.Handler(&sh.hub, sh.turn), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	start := time.Now()
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		sh.sample(ctx, start)
	}()
	if sh.sibling != nil {
		met := make(chan struct{})
		defer func() { <-met }()
		go func() {
			defer close(met)
			sh.sibling.run(ctx, sh.traffic.floodRate)
		}()
	}
	drive.Run(ctx, func() (*target.Request, bool) {
		r := sh.traffic.next()
		sh.offer(r)
		return r, true
	}, to, drive.Options{MaxInFlight: 1 << 13, Start: start, Grace: patience / 4}, sh.add)
	<-sampled
	sh.hub.Close()
	err = srv.Close()
	if e := <-served; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return errors.Join(err, sh.close())
}

func (sh *show) offer(r *target.Request) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.offered++
	sh.classes[r.Class].Offered++
}

func (sh *show) add(e drive.Event) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	c := &sh.classes[e.Request.Class]
	switch {
	case e.Skipped != drive.NotSkipped:
	case e.Result.End == target.Served:
		c.Served++
		sh.served++
	case e.Result.End == target.Refused && e.Result.Status == http.StatusTooManyRequests:
		c.Limited++
	case e.Result.End == target.Refused:
		c.Shed++
	case e.Result.End == target.TimedOut:
		c.TimedOut++
	}
	if e.Request.Class == engine.Critical && e.Skipped == drive.NotSkipped && e.Result.End != target.Refused {
		sh.charges.Record(e.Response())
	}
}

func (sh *show) sums() (offered, served int64) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.offered, sh.served
}

// sample publishes what happened, again and again, until ctx ends. Requests are
// counted over the last second, so that the lines do not jump.
func (sh *show) sample(ctx context.Context, start time.Time) {
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	var recent [time.Second / liveEvery][engine.Critical + 1]liveClass
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		w, e := sh.stage.shop.Pool.Stats(), sh.stage.engine.Snapshot()
		s := liveSample{
			At: time.Since(start).Seconds(), Classes: map[string]liveClass{}, Busy: w.Busy, Queued: w.Queued, Live: w.Live,
			Level: e.Ladder.Level, Critical: e.Gate.Critical, Other: e.Gate.Other, Allocation: e.Gate.Allocation,
		}
		sh.mu.Lock()
		classes := sh.classes
		sh.classes = [engine.Critical + 1]liveClass{}
		if sh.charges.Count() > 0 {
			p50, p99 := ms(sh.charges.Quantile(0.5)), ms(sh.charges.Quantile(0.99))
			s.P50, s.P99 = &p50, &p99
			sh.charges.Reset()
		}
		sh.mu.Unlock()
		recent[n%len(recent)] = classes
		for class := engine.Test; class <= engine.Critical; class++ {
			var sum liveClass
			for _, r := range recent {
				sum.add(r[class])
			}
			s.Classes[class.String()] = sum
			if ended := sum.Served + sum.Limited + sum.Shed + sum.TimedOut; class == engine.Critical && ended > 0 {
				success := 100 * float64(sum.Served) / float64(ended)
				s.Success = &success
			}
		}
		if sh.sibling != nil {
			s.Sync = syncNews(e.Fleet)
		}
		sh.hub.Sample(s)
	}
}
