package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/weir-go/weir/bench/internal/judge"
)

func main() {
	var o options
	flag.StringVar(&o.base, "base", "", "revision to compare the working tree with; empty: the working tree itself (A/A)")
	flag.StringVar(&o.dir, "C", ".", "directory of the repository")
	flag.StringVar(&o.pkg, "pkg", "./bench", "package of the benchmarks")
	flag.StringVar(&o.bench, "bench", ".", "benchmarks to compare, as go test -bench takes them")
	flag.IntVar(&o.plan.rounds, "rounds", 10, "samples a side")
	flag.IntVar(&o.plan.tries, "tries", 3, "runs a sample, of which the fastest counts")
	flag.DurationVar(&o.plan.benchtime, "benchtime", 30*time.Millisecond, "time of one run")
	flag.Float64Var(&o.rule.Alpha, "alpha", 0.01, "level of the Mann-Whitney test")
	flag.Float64Var(&o.rule.Threshold, "threshold", 0.10, "rise of the median time that fails, as a share")
	flag.StringVar(&o.out, "out", "", "directory for base.txt, head.txt (benchfmt) and verdicts.json")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: gate [flags] [-- arguments for both test binaries]\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	o.args = flag.Args()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	verdicts, err := compare(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if slices.ContainsFunc(verdicts, func(v judge.Verdict) bool { return v.Outcome.Fails() }) {
		os.Exit(1)
	}
}

type options struct {
	base, dir, pkg, bench, out string
	plan                       plan
	rule                       judge.Rule
	args                       []string
}

// compare builds both sides, measures every benchmark, prints the tables and
// returns the verdicts.
func compare(ctx context.Context, o options, w io.Writer) ([]judge.Verdict, error) {
	if o.plan.rounds < 5 || o.plan.tries < 1 {
		// With fewer than 5 samples a side no difference reaches p < 0.01.
		return nil, fmt.Errorf("gate: rounds %d, tries %d: need at least 5 and 1", o.plan.rounds, o.plan.tries)
	}
	tmp, err := os.MkdirTemp("", "weir-gate-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	base, head, remove, err := sides(ctx, o, tmp)
	if err != nil {
		return nil, err
	}
	defer remove()
	if sameBytes(base.path, head.path) {
		fmt.Fprintln(w, "The two test binaries are identical: this run shows the noise of the machine.")
	}

	names, only, err := common(ctx, o, base, head)
	if err != nil {
		return nil, err
	}
	var (
		verdicts []judge.Verdict
		baseAll  []*benchfmt.Result
		headAll  []*benchfmt.Result
	)
	for i, name := range names {
		p, vs, err := o.verdicts(ctx, name, base, head)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "%d/%d %s\n", i+1, len(names), name)
		verdicts = append(verdicts, vs...)
		baseAll, headAll = append(baseAll, p.base...), append(headAll, p.head...)
	}
	verdicts = append(verdicts, only...)
	out := o.out
	if out == "" {
		out = tmp
	}
	if err := save(out, baseAll, headAll, verdicts); err != nil {
		return nil, err
	}
	if err := benchstat(ctx, out, tmp, o.rule.Alpha, w); err != nil {
		return nil, err
	}
	printVerdicts(w, verdicts)
	return verdicts, nil
}

// sides builds the two test binaries.
func sides(ctx context.Context, o options, tmp string) (base, head binary, remove func(), err error) {
	remove = func() {}
	r, err := openRepo(ctx, o.dir)
	if err != nil {
		return base, head, remove, err
	}
	head, err = build(ctx, r.root, o.pkg, filepath.Join(tmp, "head.test"), o.args)
	if err != nil || o.base == "" {
		return head, head, remove, err
	}
	tree := filepath.Join(tmp, "base")
	if remove, err = r.checkout(ctx, o.base, tree); err != nil {
		return base, head, remove, err
	}
	base, err = build(ctx, tree, o.pkg, filepath.Join(tmp, "base.test"), o.args)
	if err != nil {
		remove()
	}
	return base, head, remove, err
}

// common returns the benchmarks of both sides, and verdicts on those of one
// side only.
func common(ctx context.Context, o options, base, head binary) (names []string, rest []judge.Verdict, err error) {
	b, err := base.list(ctx, o.bench)
	if err != nil {
		return nil, nil, err
	}
	h, err := head.list(ctx, o.bench)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range h {
		if slices.Contains(b, n) {
			names = append(names, n)
		} else {
			rest = append(rest, judge.Verdict{Name: n, Outcome: judge.New})
		}
	}
	for _, n := range b {
		if !slices.Contains(h, n) {
			rest = append(rest, judge.Verdict{Name: n, Outcome: judge.Gone})
		}
	}
	if len(names)+len(rest) == 0 {
		return nil, nil, fmt.Errorf("gate: no benchmark matches %q", o.bench)
	}
	return names, rest, nil
}

// verdicts measures one benchmark, and once more, with twice the samples, when
// the first measurement does not clear it.
func (o options) verdicts(ctx context.Context, name string, base, head binary) (pair, []judge.Verdict, error) {
	p, err := o.plan.measure(ctx, name, base, head)
	if err != nil {
		return p, nil, err
	}
	if vs := p.judge(o.rule, false); clears(vs) {
		return p, vs, nil
	}
	again := o.plan
	again.rounds *= 2
	p, err = again.measure(ctx, name, base, head)
	if err != nil {
		return p, nil, err
	}
	return p, p.judge(o.rule, true), nil
}

// clears reports that nothing failed and that at least one of the times, on the
// wall or of the processor, did not scatter too much to tell.
func clears(vs []judge.Verdict) bool {
	told := false
	for _, v := range vs {
		if v.Outcome.Fails() {
			return false
		}
		told = told || judge.IsTime(v.Unit) && v.Outcome != judge.Noisy
	}
	return told
}
