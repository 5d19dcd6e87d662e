package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weir-go/weir/bench/internal/judge"
	"github.com/weir-go/weir/bench/internal/laps"
)

func main() {
	from := flag.String("from", "out/perf", "directory of budget.json, versus.json, verdicts.json and profile.txt")
	to := flag.String("to", "docs", "directory of perf.md and the charts")
	flag.Parse()
	if flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := update(*from, *to); err != nil {
		fmt.Fprintln(os.Stderr, "perfdoc:", err)
		os.Exit(1)
	}
}

// inputs is what was measured.
type inputs struct {
	budget, versus *laps.Report
	noise          []judge.Verdict // of the working tree against itself
	profile        string          // where the time of a four-layer decision goes
}

func read(dir string) (in inputs, err error) {
	if in.budget, err = laps.ReadJSON(filepath.Join(dir, "budget.json")); err != nil {
		return in, err
	}
	if in.versus, err = laps.ReadJSON(filepath.Join(dir, "versus.json")); err != nil {
		return in, err
	}
	profile, err := os.ReadFile(filepath.Join(dir, "profile.txt"))
	if err != nil {
		return in, err
	}
	in.profile = string(profile)
	data, err := os.ReadFile(filepath.Join(dir, "verdicts.json"))
	if err != nil {
		return in, err
	}
	return in, json.Unmarshal(data, &in.noise)
}

func update(from, to string) error {
	in, err := read(from)
	if err != nil {
		return err
	}
	doc := filepath.Join(to, "perf.md")
	text, err := os.ReadFile(doc)
	if err != nil {
		return err
	}
	out, err := fill(string(text), in.tables())
	if err != nil {
		return fmt.Errorf("%s: %w", doc, err)
	}
	for path, data := range map[string]string{
		doc:                                  out,
		filepath.Join(to, "perf-keys.svg"):   in.costChart().svg(),
		filepath.Join(to, "perf-memory.svg"): in.memoryChart().svg(),
	} {
		if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
			return err
		}
	}
	return nil
}
