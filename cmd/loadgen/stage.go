package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/shop"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirhttp"
)

// stage is a shop behind an engine on a real port of the loopback interface.
type stage struct {
	shop   *shop.Shop
	engine *engine.Engine
	url    string
	close  func() error
}

// newStage opens the shop. cfg gets the shop, so that the engine can watch its
// workers. The handler is the same whatever the configuration: what is not
// armed is not there to be claimed.
func newStage(seed uint64, cfg func(*shop.Shop) engine.Config) (*stage, error) {
	s := shop.New(workers, queue, seed)
	e, err := engine.New(cfg(s))
	if err != nil {
		return nil, err
	}
	mux := s.Mux()
	guarded := weirhttp.Handler(e, storyBinder(e), weirhttp.Mux(mux), weirhttp.Identity(func(r *http.Request) string {
		account, _ := shop.Account(r)
		return account
	}))(mux)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	srv := &http.Server{Handler: guarded}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	return &stage{shop: s, engine: e, url: "http://" + l.Addr().String(), close: func() error {
		err := srv.Close()
		if serve := <-failed; !errors.Is(serve, http.ErrServerClosed) {
			err = errors.Join(err, serve)
		}
		return errors.Join(err, e.Close())
	}}, nil
}

// storyBinder classifies the shop's requests: a test-mode key makes anything
// test traffic, creating a charge is critical, a GET reads, the rest writes.
// Each request claims a place in its account's limits, as far as there are
// any.
func storyBinder(e *engine.Engine) policy.BinderFunc {
	requests, paced := e.Limit(limitRequests)
	inFlight, bounded := e.Limit(limitInFlight)
	return func(a policy.Attrs, dst []engine.Claim) engine.Request {
		k := e.Key(a.Identity())
		if paced {
			dst = append(dst, requests.Claim(k))
		}
		if bounded {
			dst = append(dst, inFlight.Claim(k))
		}
		return engine.Request{Class: storyClass(a), Claims: dst, Cohort: k.P}
	}
}

func storyClass(a policy.Attrs) engine.Class {
	switch {
	case len(a.Header("Authorization")) > len(testKey) && a.Header("Authorization")[:len(testKey)] == testKey:
		return engine.Test
	case a.Route() == "POST /v1/charges":
		return engine.Critical
	case a.Method() == http.MethodGet:
		return engine.Read
	}
	return engine.Write
}

const testKey = "Bearer sk_test_"

// sampleEvery is how often a performance looks at its shop and its engine.
const sampleEvery = 100 * time.Millisecond

// sample is what a performance saw at one moment.
type sample struct {
	At       time.Duration `json:"at_ns"`
	Busy     int           `json:"busy"`
	Queued   int           `json:"queued"`
	Live     int           `json:"live"`
	Critical int           `json:"critical_in_flight"`
	Other    int           `json:"other_in_flight"`
	Level    float64       `json:"ladder_level"`
}

// perform plays one half of an act and returns what was seen. It stops early
// when ctx ends, and then returns what there is and ctx's error.
func perform(ctx context.Context, a *act, half int, cfg func(*shop.Shop) engine.Config, s setting, progress func(*take)) (t *take, err error) {
	st, err := newStage(s.seed, cfg)
	if err != nil {
		return nil, fmt.Errorf("act %s, %s: %w", a.name, a.halves[half].name, err)
	}
	defer func() { err = errors.Join(err, st.close()) }()
	to, err := target.NewHTTP(st.url, target.HTTPOptions{Timeout: patience})
	if err != nil {
		return nil, err
	}
	defer to.Close()

	at := a.times(s)
	last := at.over
	if half == 0 {
		last = at.end
	}
	t = newTake(a, half, at, last)
	start := time.Now().Add(20 * time.Millisecond)
	var timers []*time.Timer
	if a.script != nil {
		for _, c := range a.script(s) {
			timers = append(timers, time.AfterFunc(time.Until(start.Add(c.at)), func() { c.do(st.shop) }))
		}
	}
	watched := make(chan struct{})
	watch, unwatch := context.WithCancel(ctx)
	go func() {
		defer close(watched)
		st.watch(watch, start, t, progress)
	}()

	requests := inOrder(a.traffic(s))
	next := func() (*target.Request, bool) {
		if len(requests) == 0 || requests[0].Due >= last || last > at.end && t.over(requests[0].Due) {
			return nil, false
		}
		r := requests[0]
		requests = requests[1:]
		return r, true
	}
	drive.Run(ctx, next, to, drive.Options{MaxInFlight: 1 << 13, Start: start}, t.add)
	unwatch()
	<-watched
	for _, timer := range timers {
		timer.Stop()
	}
	t.snapshot = st.engine.Snapshot()
	return t, ctx.Err()
}

// watch samples until ctx ends.
func (st *stage) watch(ctx context.Context, start time.Time, t *take, progress func(*take)) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		w, e := st.shop.Pool.Stats(), st.engine.Snapshot()
		t.sample(sample{
			At: time.Since(start), Busy: w.Busy, Queued: w.Queued, Live: w.Live,
			Critical: e.Gate.Critical, Other: e.Gate.Other, Level: e.Ladder.Level,
		})
		progress(t)
	}
}
