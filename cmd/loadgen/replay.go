package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/arrival"
	"github.com/weir-go/weir/cmd/loadgen/internal/replay"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

const replayHelp = `usage: loadgen replay -log FILE [flags]

Plays recorded traffic through an engine on a simulated clock, and says who would
have been refused: a dark launch on yesterday's requests. Reads the common and
combined log formats, JSON lines and CSV files; lines it cannot read are counted
and named, never fatal. Without a policy file every user (the client's address,
as far as the log knows) has one token bucket.

  loadgen replay -log access.log -rate 1/s -burst 20
  loadgen replay -state http://127.0.0.1:8080/weir/state
  loadgen replay -log requests.csv -columns time=ts,user=tenant,cost=tokens -rate 500/s -burst 20000 -suggest 99.9%

flags:
`

// replayOptions are the verb's flags.
type replayOptions struct {
	log, format, columns  string
	policy, rate          string
	burst, inFlight       int64
	factors, suggest      string
	top                   int
	json, state           string
	untouched             float64 // of -suggest; 0: not asked
	scales                []float64
	logFormat             replay.Format
	logColumns            replay.Columns
	perUser               arrival.Rate
	limitsGiven, policied bool
}

func replayVerb(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := newFlagSet("replay", stderr, replayHelp)
	o := &replayOptions{}
	fs.StringVar(&o.log, "log", "", "the `file` with the recorded traffic; - is the standard input")
	fs.StringVar(&o.state, "state", "", "instead of a log: the state of a service that runs, a `URL` of weirhttp.Admin's /state or a file with it;\nprints the same table of what its limits refused, and in shadow would have refused")
	fs.StringVar(&o.format, "format", "auto", "auto, combined, json or csv")
	fs.StringVar(&o.columns, "columns", "", "which field holds what: time=ts,method=verb,path=url,user=tenant,status=code,cost=tokens,duration=ms")
	fs.StringVar(&o.policy, "policy", "", "a policy `file`; its routes are matched with the log's paths")
	fs.StringVar(&o.rate, "rate", "10/s", "without a policy: requests (or units of cost) per time and user")
	fs.Int64Var(&o.burst, "burst", 20, "without a policy: the size of each user's bucket")
	fs.Int64Var(&o.inFlight, "in-flight", 0, "without a policy: requests at once per user, for logs with durations; 0: no such limit")
	fs.StringVar(&o.factors, "factors", "0.5,1,2,4", "by what the limits are multiplied in the table of thresholds")
	fs.StringVar(&o.suggest, "suggest", "", "propose the smallest limits that leave this share of users untouched, such as 99.9%")
	fs.IntVar(&o.top, "top", 10, "how many of the users that were hit most are named")
	fs.StringVar(&o.json, "json", "", "write all figures to this `file`, for \"loadgen report\" too")
	if code, ok := parseFlags(fs, args, stderr); !ok {
		return code
	}
	fs.Visit(func(f *flag.Flag) {
		o.limitsGiven = o.limitsGiven || f.Name == "rate" || f.Name == "burst" || f.Name == "in-flight"
	})
	if err := o.check(); err != nil {
		return usageError(stderr, "replay", err)
	}
	fail := func(err error) int {
		fmt.Fprintln(stderr, "loadgen replay:", err)
		return exitFail
	}
	if o.state != "" {
		if err := replayState(ctx, o, stdout); err != nil {
			return fail(err)
		}
		return exitOK
	}
	against, err := o.against()
	if err != nil {
		return fail(err)
	}
	run := &replayRun{options: o, started: time.Now(), policy: against}
	if err := run.play(ctx); err != nil && ctx.Err() == nil {
		return fail(err)
	}
	run.print(stdout)
	if o.json != "" {
		if err := writeJSON(o.json, run.json()); err != nil {
			return fail(err)
		}
	}
	return exitOK
}

// check reads the flags. All errors come at once.
func (o *replayOptions) check() error {
	var errs []error
	fail := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	if (o.log == "") == (o.state == "") {
		fail(errors.New("-log: missing (or -state, and only one of them)"))
	}
	var err error
	if o.logFormat, err = replay.ParseFormat(o.format); err != nil {
		fail(fmt.Errorf("-%w", err))
	}
	if o.logColumns, err = replay.ParseColumns(o.columns); err != nil {
		fail(fmt.Errorf("-%w", err))
	}
	o.policied = o.policy != ""
	if o.policied && o.limitsGiven {
		fail(errors.New("-policy: -rate, -burst and -in-flight are for a replay without one"))
	}
	if o.perUser, err = arrival.ParseRate(o.rate); err != nil {
		fail(fmt.Errorf("-rate: %w", err))
	}
	for f := range strings.SplitSeq(o.factors, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(f), 64)
		if err != nil || !(v >= 1e-6 && v <= 1e6) {
			fail(fmt.Errorf("-factors %q: %q must be a number from 0.000001 to 1000000", o.factors, f))
			continue
		}
		o.scales = append(o.scales, v)
	}
	if o.suggest != "" {
		percent, found := strings.CutSuffix(o.suggest, "%")
		v, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
		if err != nil || !found || !(v > 0 && v <= 100) || math.IsNaN(v) {
			fail(fmt.Errorf("-suggest %q: must be a share such as 99.9%%", o.suggest))
		}
		o.untouched = v / 100
	}
	if o.top < 0 || o.top > 1000 {
		fail(fmt.Errorf("-top %d: must be from 0 to 1000", o.top))
	}
	return errors.Join(errs...)
}

// against is the policy file, or one bucket per user.
func (o *replayOptions) against() (replay.Policy, error) {
	if o.policied {
		p, err := policy.Load(o.policy)
		if err != nil {
			return replay.Policy{}, err
		}
		return replay.Policy{Config: p.Config(), Bind: func(e *engine.Engine) (policy.Binder, error) { return policy.New(e, p) }}, nil
	}
	cfg := engine.Config{Limits: []engine.Limit{{Name: "per_user", Rate: o.perUser.N, Per: o.perUser.Per, Burst: o.burst}}}
	if o.inFlight != 0 {
		cfg.Limits = append(cfg.Limits, engine.Limit{Name: "in_flight", Kind: engine.InFlight, Max: o.inFlight})
	}
	return replay.Policy{Config: cfg, Bind: func(e *engine.Engine) (policy.Binder, error) {
		bucket, _ := e.Limit("per_user")
		flight, bounded := e.Limit("in_flight")
		return policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
			k, cost := e.Key(a.Identity()), int64(1)
			if c, ok := a.(replay.Coster); ok {
				cost = c.Cost()
			}
			dst = append(dst, bucket.ClaimN(k, cost))
			if bounded {
				dst = append(dst, flight.Claim(k))
			}
			return engine.Request{Class: methodClass(a.Method()), Claims: dst}
		}), nil
	}}, nil
}

// replayRun is a replay and what came out.
type replayRun struct {
	options  *replayOptions
	policy   replay.Policy
	started  time.Time
	problems replay.Problems
	events   int
	users    int
	span     time.Duration
	from     time.Time
	read     time.Duration // to read and parse
	took     time.Duration // all in all
	tally    *replay.Tally
	scaled   []*replay.Tally // by the options' factors
	suggests []replay.Suggestion
	costs    bool
	lasts    bool
}

// play reads the log and plays it. When ctx ends it stops at the next
// opportunity, with what there is.
func (r *replayRun) play(ctx context.Context) error {
	in := os.Stdin
	if r.options.log != "-" {
		f, err := os.Open(r.options.log)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	defer func() { r.took = time.Since(r.started) }()
	// A log that is still being written, or typed, ends with Ctrl-C.
	defer context.AfterFunc(ctx, func() { in.Close() })()
	events, problems, err := replay.Read(in, r.options.logFormat, r.options.logColumns)
	r.problems, r.read = problems, time.Since(r.started)
	if err != nil {
		return err
	}
	sim, err := replay.NewSim(events, r.policy)
	if err != nil {
		return err
	}
	r.events, r.users, r.span, r.from = sim.Len(), len(sim.Users), sim.Span(), events[0].At
	r.costs, r.lasts = sim.Costs(), sim.Lasts()
	if r.tally, err = sim.Tally(r.policy.Config); err != nil {
		return err
	}
	for _, f := range r.options.scales {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		t, err := sim.Tally(replay.Scale(r.policy.Config, f))
		if err != nil {
			return fmt.Errorf("limits × %g: %w", f, err)
		}
		r.scaled = append(r.scaled, t)
	}
	if r.options.untouched > 0 && ctx.Err() == nil {
		if r.suggests, err = sim.Suggest(r.options.untouched); err != nil {
			return err
		}
	}
	return ctx.Err()
}
