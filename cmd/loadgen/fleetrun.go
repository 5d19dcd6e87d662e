package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/cmd/loadgen/internal/arrival"
	"github.com/weir-go/weir/cmd/loadgen/internal/wire"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleetredis"
)

var syncModes = map[string]engine.SyncMode{"share": engine.SyncShare, "strict": engine.SyncStrict, "off": engine.SyncOff}

// parseAt reads LENGTH@BEGIN.
func parseAt(s string) (length, begin time.Duration, err error) {
	a, b, ok := strings.Cut(s, "@")
	if !ok {
		return 0, 0, errors.New("no @")
	}
	if length, err = time.ParseDuration(a); err != nil {
		return 0, 0, err
	}
	if begin, err = time.ParseDuration(b); err != nil {
		return 0, 0, err
	}
	if length <= 0 || begin < 0 {
		return 0, 0, errors.New("out of range")
	}
	return length, begin, nil
}

// fleetRun is a fleet's run and what was measured.
type fleetRun struct {
	options *fleetOptions
	started time.Time
	took    time.Duration
	stopped bool
	nodes   []*node
	// admitted are the times at which each user was admitted, anywhere.
	admitted [][]time.Duration
}

// node is one instance.
type node struct {
	engine            *engine.Engine
	offered, admitted int64
	perSecond         []int64 // admitted
	times             [][]time.Duration
	sync              engine.FleetSnapshot
}

// play runs the fleet until its duration is over or ctx ends.
func (o *fleetOptions) play(ctx context.Context, line *status) (*fleetRun, error) {
	link, err := wire.Listen(o.redis)
	if err != nil {
		return nil, err
	}
	defer link.Close()
	link.Delay(o.latency)
	run := &fleetRun{options: o}
	defer func() {
		for _, n := range run.nodes {
			n.engine.Close() // what is leased is given back, or expires
		}
	}()
	for range o.nodes {
		e, err := o.newNode(link.Addr())
		if err != nil {
			return nil, err
		}
		run.nodes = append(run.nodes, &node{engine: e, times: make([][]time.Duration, o.users)})
	}
	if o.sync != "off" {
		if err := run.meet(ctx); err != nil {
			return nil, err
		}
	}
	run.started = time.Now()
	var timers []*time.Timer
	if o.outLast > 0 {
		timers = append(timers, time.AfterFunc(o.outAt, link.Cut), time.AfterFunc(o.outAt+o.outLast, link.Mend))
	}
	var wg sync.WaitGroup
	for i, n := range run.nodes {
		wg.Go(func() { run.drive(ctx, i, n) })
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for tick := time.NewTicker(refreshEvery); ; {
		select {
		case <-tick.C:
			line.show(fmt.Sprintf("%.0f of %v: %d instances", time.Since(run.started).Seconds(), o.duration, o.nodes))
			continue
		case <-done:
		}
		tick.Stop()
		break
	}
	line.clear()
	for _, t := range timers {
		t.Stop()
	}
	run.took, run.stopped = time.Since(run.started), ctx.Err() != nil
	run.admitted = make([][]time.Duration, o.users)
	for _, n := range run.nodes {
		n.sync = n.engine.Snapshot().Fleet
		for u, times := range n.times {
			run.admitted[u] = append(run.admitted[u], times...)
		}
	}
	for _, times := range run.admitted {
		slices.Sort(times)
	}
	return run, nil
}

// newNode makes an instance that reaches the Redis at addr.
func (o *fleetOptions) newNode(addr string) (*engine.Engine, error) {
	cfg := engine.Config{
		Limits: []engine.Limit{{
			Name: "per_user", Rate: o.limit.N, Per: o.limit.Per, Burst: o.burst,
			Sync: engine.Sync{Mode: syncModes[o.sync]},
		}},
		Secret: []byte("loadgen fleet, no secret at all"),
	}
	if o.sync != "off" {
		t, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{addr}}, fleetredis.Options{Prefix: fmt.Sprintf("loadgen%d", o.seed), Shards: 4})
		if err != nil {
			return nil, err
		}
		if cfg.Sync, err = fleet.New(fleet.Config{Transport: t, Expected: o.nodes, Period: o.period}); err != nil {
			return nil, errors.Join(err, t.Close())
		}
	}
	return engine.New(cfg)
}

// meetTimeout is how long the instances may take to find the store.
const meetTimeout = 5 * time.Second

// meet waits until every instance has exchanged something.
func (r *fleetRun) meet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, meetTimeout)
	defer cancel()
	for _, n := range r.nodes {
		id, _ := n.engine.Limit("per_user")
		for n.engine.Snapshot().Fleet.Acked == 0 {
			t := n.engine.Admit(engine.Request{Claims: []engine.Claim{id.Claim(n.engine.Key("hello"))}})
			t.Done(engine.Success)
			select {
			case <-ctx.Done():
				return fmt.Errorf("the Redis at %s does not answer", r.options.redis)
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	return nil
}

// drive sends an instance its part of the traffic.
func (r *fleetRun) drive(ctx context.Context, i int, n *node) {
	o := r.options
	id, _ := n.engine.Limit("per_user")
	type source struct {
		claim engine.Claim
		plan  arrival.Plan
		user  int
		due   time.Duration
	}
	var sources []*source
	for u := range o.users {
		// Of a user's requests the share skew is on one instance, another one for
		// each user, and the rest is spread evenly.
		share := (1 - o.skew) / float64(o.nodes)
		if u%o.nodes == i {
			share += o.skew
		}
		per := float64(o.limit.Per) / (o.demand * share)
		if share <= 0 || per > float64(1<<62) {
			continue
		}
		plan := arrival.Poisson(arrival.Constant{N: o.limit.N, Per: max(1, time.Duration(per))}, rand.New(rand.NewPCG(o.seed, uint64(u*o.nodes+i))).Uint64(), o.duration)
		s := &source{claim: id.Claim(n.engine.Key(fmt.Sprintf("user%d", u))), plan: plan, user: u}
		var ok bool
		if s.due, ok = plan.Next(); ok {
			sources = append(sources, s)
		}
	}
	for len(sources) > 0 && ctx.Err() == nil {
		s := slices.MinFunc(sources, func(a, b *source) int { return cmp.Compare(a.due, b.due) })
		if d := s.due - time.Since(r.started); d > 0 {
			select {
			case <-time.After(d):
			case <-ctx.Done():
				return
			}
		}
		n.offered++
		t := n.engine.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{s.claim}})
		if t.OK() {
			at := time.Since(r.started)
			n.admitted++
			n.times[s.user] = append(n.times[s.user], at)
			for len(n.perSecond) <= int(at/time.Second) {
				n.perSecond = append(n.perSecond, 0)
			}
			n.perSecond[at/time.Second]++
		}
		t.Done(engine.Success)
		var ok bool
		if s.due, ok = s.plan.Next(); !ok {
			sources = slices.DeleteFunc(sources, func(o *source) bool { return o == s })
		}
	}
}

// overshoot is by how many requests a user was admitted above its limit at the
// worst moment: more than burst and rate allow in any interval that ends there.
func (r *fleetRun) overshoot(times []time.Duration) float64 {
	rate := r.options.limit.PerSecond()
	var debt, worst float64
	var last time.Duration
	for _, at := range times {
		debt = max(0, debt-rate*(at-last).Seconds()) + 1
		last = at
		worst = max(worst, debt-float64(r.options.burst))
	}
	return worst
}

// used is the share of what the limit allows that a user got, in the window.
func (r *fleetRun) used(times []time.Duration, from, to time.Duration) float64 {
	i, _ := slices.BinarySearch(times, from)
	j, _ := slices.BinarySearch(times, to)
	return float64(j-i) / (r.options.limit.PerSecond() * (to - from).Seconds())
}
