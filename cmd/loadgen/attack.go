package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
)

const attackHelp = `usage: loadgen attack [flags]

Drives a service in an open loop: every request is sent when it is due, whether
or not those before it were answered, and its latency counts from then. What the
generator could not do is counted, and a run in which it fell behind is invalid.

  loadgen attack -url engine -rate 20000/s -duration 5s -users 1000 -zipf 1.2 -limit 10/s -burst 20
  loadgen attack -url http://127.0.0.1:8080 -rate 200/s -duration 10s -users 300 \
      -request 'critical 1 POST /v1/charges' -request 'read 4 GET /v1/charges' \
      -header 'Authorization: Bearer sk_live_{user}' -slo 'p99<200ms,critical>99.9%'

Exit codes: 0, 1 when the run is invalid or an objective was missed, 2 for usage.

flags:
`

func attackVerb(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := newFlagSet("attack", stderr, attackHelp)
	o := attackFlags(fs)
	if code, ok := parseFlags(fs, args, stderr); !ok {
		return code
	}
	l, err := o.load()
	if err != nil {
		return usageError(stderr, "attack", err)
	}
	to, done, err := o.target()
	if err != nil {
		return usageError(stderr, "attack", err)
	}
	defer done()

	run := newAttack(o, l)
	if err := run.openLog(o.hlog); err != nil {
		fmt.Fprintln(stderr, "loadgen attack:", err)
		return exitFail
	}
	line := newStatus(stderr)
	if o.inProcess() {
		run.inline(ctx, to, line)
	} else {
		drive.Run(ctx, l.next, to, drive.Options{MaxInFlight: o.maxInFlight, Start: run.started, Grace: time.Second}, func(e drive.Event) {
			run.add(&e)
			run.status(line)
		})
	}
	line.clear()
	err = run.closeLog()
	run.finish(ctx.Err() != nil)
	run.print(stdout)
	if o.json != "" {
		err = errors.Join(err, writeJSON(o.json, run.json()))
	}
	if err != nil {
		fmt.Fprintln(stderr, "loadgen attack:", err)
		return exitFail
	}
	if len(run.missed) > 0 {
		return exitFail
	}
	return exitOK
}

// attackOptions are the verb's flags.
type attackOptions struct {
	url, unix   string
	timeout     time.Duration
	maxInFlight int
	connections int
	headers     stringList

	rate, shape, arrivals string
	duration              time.Duration
	count                 int64
	replay, columns       string
	speed                 float64

	requests  stringList
	body      string
	users     int
	usersFile string
	zipf      float64
	seed      uint64

	policy, limit string
	burst         int64

	slo, json, hlog string

	objectives []objective
}

func attackFlags(fs *flag.FlagSet) *attackOptions {
	o := &attackOptions{}
	fs.StringVar(&o.url, "url", "", "what is driven: http://HOST:PORT, grpc://HOST:PORT, or engine: for an engine in this process")
	fs.StringVar(&o.unix, "unix", "", "HTTP over this Unix `socket` instead of TCP")
	fs.DurationVar(&o.timeout, "timeout", 5*time.Second, "how long a client waits")
	fs.IntVar(&o.maxInFlight, "max-in-flight", 10_000, "requests on their way at once; what is due beyond that is skipped and counted")
	fs.IntVar(&o.connections, "connections", 4, "gRPC: how many connections")
	fs.Var(&o.headers, "header", "'Name: value', {user} replaced; may be repeated")

	fs.StringVar(&o.rate, "rate", "50/s", "requests per time: 100/s, 0.5/s, 7/3s")
	fs.StringVar(&o.shape, "shape", "constant", "how the rate goes on: constant, ramp:TO (over the duration), step:RATE@TIME,RATE@TIME,... or sine:SWING@PERIOD")
	fs.StringVar(&o.arrivals, "arrivals", "even", "even or poisson")
	fs.DurationVar(&o.duration, "duration", 10*time.Second, "how long requests are sent")
	fs.Int64Var(&o.count, "count", 0, "how many requests are sent at most; 0: as many as are due")
	fs.StringVar(&o.replay, "replay", "", "take times, methods, paths and users from this access `log` instead (combined, JSON lines or CSV)")
	fs.StringVar(&o.columns, "columns", "", "with -replay: which column holds what, time=ts,user=tenant,...")
	fs.Float64Var(&o.speed, "speed", 1, "with -replay: how many times as fast")

	fs.Var(&o.requests, "request", "'CLASS WEIGHT METHOD PATH', {user} replaced; may be repeated; default 'read 1 GET /'.\nFor gRPC the path is /package.Service/Method")
	fs.StringVar(&o.body, "body", "", "the body of requests that are no GET or HEAD, {user} replaced; for gRPC the encoded message")
	fs.IntVar(&o.users, "users", 100, "how many users there are: u0, u1, ...")
	fs.StringVar(&o.usersFile, "users-file", "", "users from this `file` instead, one a line")
	fs.Float64Var(&o.zipf, "zipf", 0, "how unevenly users send: 0 all alike, above 1 the exponent of a Zipf distribution")
	fs.Uint64Var(&o.seed, "seed", 1, "what users and Poisson times are drawn from")

	fs.StringVar(&o.policy, "policy", "", "with -url engine: the policy `file` of the engine; default: one token bucket per user")
	fs.StringVar(&o.limit, "limit", "100/s", "with -url engine: and no policy, the bucket's rate")
	fs.Int64Var(&o.burst, "burst", 100, "with -url engine: and no policy, the bucket's size")

	fs.StringVar(&o.slo, "slo", "", "objectives, all to be met: p99<20ms, max<1s, critical>99.9%, read.p50<5ms, served>99%")
	fs.StringVar(&o.json, "json", "", "write all figures to this `file`, for \"loadgen report\" too")
	fs.StringVar(&o.hlog, "hlog", "", "write a histogram log (HdrHistogram 1.3, a line per second and class) to this `file`")
	return o
}

// stringList is a flag that may be repeated.
type stringList []string

func (l *stringList) String() string { return fmt.Sprint([]string(*l)) }

func (l *stringList) Set(s string) error {
	*l = append(*l, s)
	return nil
}

// readLines returns the lines of a file that are not empty.
func readLines(file string) ([]string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return nonEmptyLines(string(b)), nil
}
