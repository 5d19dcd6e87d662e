package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"golang.org/x/perf/benchfmt"

	"github.com/weir-go/weir/bench/internal/judge"
)

// save writes what was measured and what follows from it.
func save(dir string, base, head []*benchfmt.Result, verdicts []judge.Verdict) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, results := range map[string][]*benchfmt.Result{"base.txt": base, "head.txt": head} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		w := benchfmt.NewWriter(f)
		for _, r := range results {
			if err := w.Write(r); err != nil {
				_ = f.Close()
				return err
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	data, err := json.MarshalIndent(verdicts, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "verdicts.json"), append(data, '\n'), 0o644)
}

// benchstat prints benchstat's own table of the two files. Its code cannot be
// imported, so it is built at the version that go.mod names.
func benchstat(ctx context.Context, dir, tmp string, alpha float64, w io.Writer) error {
	bin := filepath.Join(tmp, "benchstat")
	if _, err := run(ctx, ".", "go", "build", "-o", bin, "golang.org/x/perf/cmd/benchstat"); err != nil {
		return err
	}
	out, err := run(ctx, dir, bin, "-alpha", fmt.Sprint(alpha), "base=base.txt", "head=head.txt")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, out)
	return err
}

// printVerdicts prints a line for every verdict and the sums.
func printVerdicts(w io.Writer, verdicts []judge.Verdict) {
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	count := map[judge.Outcome]int{}
	for _, v := range verdicts {
		count[v.Outcome]++
		switch v.Outcome {
		case judge.New, judge.Gone:
			fmt.Fprintf(tw, "%s\t%s\n", v.Outcome, v.Name)
		default:
			fmt.Fprintf(tw, "%s\t%s\t%.4g → %.4g %s\t%+.1f%%\tp=%.3f n=%d\t±%.0f%%\n",
				v.Outcome, v.Name, v.Base, v.Head, v.Unit, 100*v.Delta, v.P, v.N, 100*v.Scatter)
		}
	}
	_ = tw.Flush()
	fmt.Fprintf(w, "\n%d figures:", len(verdicts))
	for _, o := range []judge.Outcome{judge.Same, judge.Faster, judge.Less, judge.New, judge.Noisy, judge.Slower, judge.More, judge.Gone} {
		if count[o] > 0 {
			fmt.Fprintf(w, " %d %s", count[o], o)
		}
	}
	failed := count[judge.Slower] + count[judge.More] + count[judge.Gone]
	if failed > 0 {
		fmt.Fprintf(w, "\nFAIL: %d\n", failed)
		return
	}
	fmt.Fprintln(w, "\nPASS")
}
