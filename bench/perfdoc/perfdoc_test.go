package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bench/internal/judge"
	"github.com/weir-go/weir/bench/internal/laps"
)

func TestFillPutsEachTableBetweenItsMarkers(t *testing.T) {
	text := "before\n<!-- table: a -->\nold\n<!-- end -->\nbetween\n<!-- table: b --><!-- end -->\nafter\n"
	want := "before\n<!-- table: a -->\nA\n<!-- end -->\nbetween\n<!-- table: b -->\nB\n<!-- end -->\nafter\n"
	tables := map[string]string{"a": "A\n", "b": "B\n"}
	got, err := fill(text, tables)
	require.NoError(t, err)
	require.Equal(t, want, got)
	again, err := fill(got, tables)
	require.NoError(t, err)
	require.Equal(t, want, again, "a second time changes nothing")
}

func TestFillRefusesADocumentThatDoesNotFit(t *testing.T) {
	for text, want := range map[string]string{
		"<!-- table: b --><!-- end -->": `table "b": nothing makes it`,
		"no marker":                     `tables ["a"]: have no place`,
		"<!-- table: a -->":             `table "a": has no end`,
		"<!-- table: a --> <!-- table: b --> <!-- end -->":            `table "a": has no end`,
		"<!-- table: a --><!-- end --> <!-- table: a --><!-- end -->": "",
	} {
		_, err := fill(text, map[string]string{"a": "A"})
		if want == "" {
			require.NoError(t, err, "a table may be shown twice")
			continue
		}
		require.EqualError(t, err, want)
	}
}

// The whole way, from the files to the document and its charts.
func TestUpdateWritesTheDocument(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	m := func(x float64) laps.Measured { return laps.Measured{Median: x, Low: x, High: x, N: 3} }
	table := func(keys, cores int, weir, peer float64) laps.Table {
		return laps.Table{Group: "rate", What: "one check", Keys: keys, Dist: "uniform", Cores: cores, Rows: []laps.Row{
			{Name: "weir", Weir: true, Module: "m", NS: m(weir), Ratio: m(1), BytesPerKey: 27, Note: "ours"},
			{Name: "peer & co", Module: "p", Version: "v1.2.3", NS: m(peer), Ratio: m(peer / weir), BytesPerKey: 120, Note: "theirs"},
		}}
	}
	versus := &laps.Report{
		Tables:  []laps.Table{table(1e3, 1, 30, 90), table(1e6, 1, 100, 600), table(1e6, 2, 110, 700)},
		Budgets: []laps.Budget{{ID: "B1", What: "one claim", Bench: "BenchmarkOneClaim", Unit: "×", Bound: laps.AtMost, Must: 0.5, Aim: 0.2, Measured: m(0.33)}},
	}
	require.NoError(t, versus.WriteJSON(filepath.Join(from, "versus.json")))
	budget := &laps.Report{
		Machine: laps.Machine{CPU: "some CPU", Cores: 2, OS: "linux/amd64", Go: "go1.26"},
		Budgets: []laps.Budget{
			{ID: "B10", What: "storm", Unit: "×", Bound: laps.AtMost, Must: 50, Aim: 10, Measured: m(70)},
			{ID: "B9", What: "floor", Unit: "×", Bound: laps.AtMost, Must: 2, Aim: 1.3, Measured: m(1.2)},
		},
		Figures: []laps.Figure{{Name: "the clock", Unit: "ns", Measured: m(26)}},
	}
	require.NoError(t, budget.WriteJSON(filepath.Join(from, "budget.json")))
	noise, err := json.Marshal([]judge.Verdict{
		{Name: "OneClaim/keys=1k-2", Unit: "sec/op", Base: 30e-9, Head: 31e-9, Delta: 0.033, Scatter: 0.02, Outcome: judge.Same},
		{Name: "OneClaim/keys=1k-2", Unit: "allocs/op", Outcome: judge.Same},
		{Name: "Other-2", Unit: "sec/op", Base: 1e-6, Delta: -0.01, Scatter: 0.3, Outcome: judge.Noisy, Again: true},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(from, "verdicts.json"), noise, 0o644))

	profile := "Type: cpu\nShowing nodes\n      flat  flat%   sum%        cum   cum%\n     0.17s 14.29% 14.29%      0.20s 16.80%  engine.(*Engine).Admit (inline)\n"
	require.NoError(t, os.WriteFile(filepath.Join(from, "profile.txt"), []byte(profile), 0o644))

	doc := "# Performance\n"
	for _, name := range []string{"machine", "budgets", "figures", "versus", "notes", "memory", "benchmarks", "noise", "profile"} {
		doc += "<!-- table: " + name + " --><!-- end -->\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(to, "perf.md"), []byte(doc), 0o644))
	require.NoError(t, update(from, to))

	data, err := os.ReadFile(filepath.Join(to, "perf.md"))
	require.NoError(t, err)
	text := string(data)
	for _, want := range []string{
		"some CPU, 2 cores",
		"| B1 | one claim | ≤ 0.5× | 0.2× | **0.33×** | 0.33–0.33 | must | `BenchmarkOneClaim` |",
		"| **70×** | 70–70 | MISSED |",
		"| **1.20×** | 1.20–1.20 | aim |",
		"| the clock | 26 ns |",
		"One check: 1M keys, uniform, 2 core(s)",
		"| peer & co | 600 | 600–600 | 6× | 0 | 120 |",
		"| peer & co | p v1.2.3 | theirs |",
		"| bytes per key | 1k keys | 1M keys |",
		"| weir | 27 | 27 |",
		"| `OneClaim/keys=1k-2` | 30.0 | ±2% | 0 | 0 |",
		"| 14.29% | 16.80% | `engine.(*Engine).Admit (inline)` |",
		"| too noisy to tell, even then | 1 |",
		"| difference of the median times: median, largest | 2.1 %, 3.3 % |",
	} {
		require.Contains(t, text, want)
	}
	require.Less(t, strings.Index(text, "| B9 "), strings.Index(text, "| B10 "), "in the order of their numbers")

	for _, name := range []string{"perf-keys.svg", "perf-memory.svg"} {
		data, err := os.ReadFile(filepath.Join(to, name))
		require.NoError(t, err)
		require.NoError(t, wellFormed(string(data)), name)
		require.Contains(t, string(data), "peer &amp; co")
		require.Contains(t, string(data), "1M keys")
	}
}

func wellFormed(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestChartKeepsItsLabelsApartAndInside(t *testing.T) {
	c := chart{title: "t", unit: "ns"}
	for i := range 10 {
		c.lines = append(c.lines, line{name: string(rune('a' + i)), points: []point{{1e3, 100}, {1e6, 100 + float64(i)}}})
	}
	svg := c.svg()
	var ys []float64
	for _, l := range strings.Split(svg, "\n") {
		if strings.Contains(l, "font-weight") {
			_, rest, _ := strings.Cut(l, `<text x=`)
			_, rest, _ = strings.Cut(rest, `y="`)
			num, _, _ := strings.Cut(rest, `"`)
			var y float64
			require.NoError(t, json.Unmarshal([]byte(num), &y))
			ys = append(ys, y)
		}
	}
	require.Len(t, ys, 10)
	for i := 1; i < len(ys); i++ {
		require.GreaterOrEqual(t, ys[i]-ys[i-1], float64(labelHeight)-0.2)
	}
	require.Positive(t, ys[0])
	require.Less(t, ys[9], float64(height))
}

func TestFigure(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.033: "0.03", 0.0012: "0.0012", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 2: "2"} {
		require.Equal(t, want, figure(x))
	}
}
