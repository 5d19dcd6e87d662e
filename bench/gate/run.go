package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/weir-go/weir/bench/internal/judge"
)

// binary is one side's compiled benchmarks.
type binary struct {
	path string
	dir  string   // the package's directory: benchmarks may read files beside them
	args []string // passed on as they are
}

// bench runs the benchmarks that match the pattern once each.
func (b binary) bench(ctx context.Context, pattern string, benchtime string) ([]*benchfmt.Result, error) {
	args := append([]string{"-test.run=^$", "-test.bench=" + pattern, "-test.benchmem", "-test.benchtime=" + benchtime}, b.args...)
	cmd := exec.CommandContext(ctx, b.path, args...)
	cmd.Dir = b.dir
	var out bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("gate: %s -test.bench=%s: %w\n%s", b.path, pattern, err, out.Bytes())
	}
	var results []*benchfmt.Result
	r := benchfmt.NewReader(&out, b.path)
	for r.Scan() {
		if res, ok := r.Result().(*benchfmt.Result); ok {
			results = append(results, res.Clone())
		}
	}
	return results, r.Err()
}

// list returns the names of the benchmarks that match, subs included, in the
// order in which they run.
func (b binary) list(ctx context.Context, pattern string) ([]string, error) {
	results, err := b.bench(ctx, pattern, "1x")
	names := make([]string, 0, len(results))
	for _, r := range results {
		names = append(names, r.Name.String())
	}
	return names, err
}

// only is the pattern that matches this benchmark, and those below it.
func only(name string) string {
	base, parts := benchfmt.Name(name).Parts()
	pattern := "^Benchmark" + regexp.QuoteMeta(string(base)) + "$"
	for _, p := range parts {
		if p[0] == '/' { // the other kind is the -GOMAXPROCS at the end
			pattern += "/^" + regexp.QuoteMeta(string(p[1:])) + "$"
		}
	}
	return pattern
}

// plan is how often each benchmark runs.
type plan struct {
	rounds    int           // samples a side
	tries     int           // runs a sample, of which the fastest counts
	benchtime time.Duration // of one run
}

// pair is the samples of one benchmark on both sides.
type pair struct {
	name       string
	base, head []*benchfmt.Result
}

// measure runs one benchmark on both sides in turns.
func (p plan) measure(ctx context.Context, name string, base, head binary) (pair, error) {
	out := pair{name: name}
	for round := range p.rounds {
		order := []func() error{
			func() error { return p.sample(ctx, name, base, &out.base) },
			func() error { return p.sample(ctx, name, head, &out.head) },
		}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, run := range order {
			if err := run(); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// sample is a few runs in one process: the fastest, and of every time the least
// of them all.
func (p plan) sample(ctx context.Context, name string, b binary, to *[]*benchfmt.Result) error {
	b.args = append(slices.Clip(b.args), fmt.Sprintf("-test.count=%d", p.tries))
	results, err := b.bench(ctx, only(name), p.benchtime.String())
	if err != nil {
		return err
	}
	// A pattern also matches what lies below the name.
	results = slices.DeleteFunc(results, func(r *benchfmt.Result) bool { return r.Name.String() != name })
	if len(results) == 0 {
		return fmt.Errorf("gate: %s: %s: no result", b.path, name)
	}
	best := slices.MinFunc(results, func(a, b *benchfmt.Result) int {
		x, _ := a.Value("sec/op")
		y, _ := b.Value("sec/op")
		return cmp.Compare(x, y)
	})
	for i, v := range best.Values {
		if judge.IsTime(v.Unit) {
			best.Values[i].Value = slices.Min(values(results, v.Unit))
			best.Values[i].OrigValue = 0 // so that the writer takes the other
			best.Values[i].OrigUnit = ""
		}
	}
	*to = append(*to, best)
	return nil
}

// judge compares every gated figure of the pair.
func (p pair) judge(r judge.Rule, again bool) []judge.Verdict {
	var out []judge.Verdict
	for _, val := range p.head[0].Values {
		base, head := values(p.base, val.Unit), values(p.head, val.Unit)
		if len(base) == 0 || len(head) == 0 {
			continue
		}
		if v, ok := r.Judge(p.name, val.Unit, base, head); ok {
			v.Again = again
			out = append(out, v)
		}
	}
	return out
}

func values(results []*benchfmt.Result, unit string) []float64 {
	var out []float64
	for _, r := range results {
		if v, ok := r.Value(unit); ok {
			out = append(out, v)
		}
	}
	return out
}
