package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/arrival"
)

const fleetHelp = `usage: loadgen fleet -redis ADDR [flags]

Runs many engines that share one limit over one Redis, sends each of a few users
more than the limit allows, spread over the instances, and measures what the
fleet admits: how far above the limit, how much of it, and how fairly the
instances divide it. Faults are injected between the instances and the Redis,
where nothing is left: its keys expire.

  redis-server --port 6390 --save "" &
  loadgen fleet -redis 127.0.0.1:6390 -nodes 5 -rate 100/s -burst 100 -duration 20s -outage 5s@8s

flags:
`

// fleetOptions are the verb's flags.
type fleetOptions struct {
	redis    string
	nodes    int
	users    int
	rate     string
	burst    int64
	demand   float64
	skew     float64
	sync     string
	duration time.Duration
	outage   string
	latency  time.Duration
	period   time.Duration
	seed     uint64
	json     string

	limit          arrival.Rate
	outAt, outLast time.Duration
}

func fleetVerb(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := newFlagSet("fleet", stderr, fleetHelp)
	o := &fleetOptions{}
	fs.StringVar(&o.redis, "redis", "", "address of the Redis that the instances share, HOST:PORT")
	fs.IntVar(&o.nodes, "nodes", 3, "instances, 1 to 100")
	fs.IntVar(&o.users, "users", 3, "users, each with a limit of its own, 1 to 1000")
	fs.StringVar(&o.rate, "rate", "100/s", "each user's limit in the whole fleet")
	fs.Int64Var(&o.burst, "burst", 100, "and its burst")
	fs.Float64Var(&o.demand, "demand", 3, "how many times its limit each user asks for, above 0 and at most 100")
	fs.Float64Var(&o.skew, "skew", 0, "how unevenly a user's requests are spread over the instances: 0 evenly, 1 all on one")
	fs.StringVar(&o.sync, "sync", "share", "share, strict or off")
	fs.DurationVar(&o.duration, "duration", 10*time.Second, "how long")
	fs.StringVar(&o.outage, "outage", "", "cut the instances off for a while, LENGTH@BEGIN: 3s@5s")
	fs.DurationVar(&o.latency, "latency", 0, "delay every answer of the Redis, at most 1s")
	fs.DurationVar(&o.period, "period", 0, "time between two exchanges; 0: the fleet's default")
	fs.Uint64Var(&o.seed, "seed", 1, "what the traffic is drawn from")
	fs.StringVar(&o.json, "json", "", "write all figures to this `file`, for \"loadgen report\" too")
	if code, ok := parseFlags(fs, args, stderr); !ok {
		return code
	}
	if err := o.check(); err != nil {
		return usageError(stderr, "fleet", err)
	}
	run, err := o.play(ctx, newStatus(stderr))
	if err != nil {
		fmt.Fprintln(stderr, "loadgen fleet:", err)
		return exitFail
	}
	run.print(stdout)
	if o.json != "" {
		if err := writeJSON(o.json, run.json()); err != nil {
			fmt.Fprintln(stderr, "loadgen fleet:", err)
			return exitFail
		}
	}
	return exitOK
}

func (o *fleetOptions) check() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(o.redis != "", "-redis: missing")
	check(o.nodes >= 1 && o.nodes <= 100, "-nodes %d: must be from 1 to 100", o.nodes)
	check(o.users >= 1 && o.users <= 1000, "-users %d: must be from 1 to 1000", o.users)
	check(o.burst >= 1, "-burst %d: must be above 0", o.burst)
	check(o.demand > 0 && o.demand <= 100, "-demand %v: must be above 0 and at most 100", o.demand)
	check(o.skew >= 0 && o.skew <= 1, "-skew %v: must be from 0 to 1", o.skew)
	check(o.duration > 0, "-duration %v: must be above 0", o.duration)
	check(o.latency >= 0 && o.latency <= time.Second, "-latency %v: must be from 0 to 1s", o.latency)
	_, known := syncModes[o.sync]
	check(known, "-sync %q: must be share, strict or off", o.sync)
	var err error
	if o.limit, err = arrival.ParseRate(o.rate); err != nil {
		errs = append(errs, fmt.Errorf("-rate: %w", err))
	} else {
		all := o.limit.PerSecond() * o.demand * float64(o.users)
		check(all <= 200_000, "-rate, -demand and -users: %.0f requests a second in all, at most 200000", all)
		check(!math.IsInf(all, 0), "-rate %s: out of range", o.rate)
	}
	if o.outage != "" {
		o.outLast, o.outAt, err = parseAt(o.outage)
		check(err == nil, "-outage %q: write LENGTH@BEGIN, such as 3s@5s", o.outage)
	}
	return errors.Join(errs...)
}
