package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weir-go/weir/bench/internal/judge"
	"github.com/weir-go/weir/bench/internal/laps"
	"github.com/weir-go/weir/bench/internal/workload"
)

// tables are the generated parts of the document by name.
func (in inputs) tables() map[string]string {
	return map[string]string{
		"machine":    in.machine(),
		"budgets":    in.budgets(),
		"figures":    in.figures(),
		"versus":     in.comparison(),
		"notes":      in.notes(),
		"memory":     in.memory(),
		"benchmarks": in.benchmarks(),
		"noise":      in.noiseTable(),
		"profile":    in.profileTable(),
	}
}

// markdown is a table in Markdown; columns whose head ends in ":" are aligned
// to the right.
func markdown(head []string, rows [][]string) string {
	var b strings.Builder
	rule := make([]string, len(head))
	names := make([]string, len(head))
	for i, h := range head {
		names[i] = strings.TrimSuffix(h, ":")
		rule[i] = "---"
		if names[i] != h {
			rule[i] = "--:"
		}
	}
	for _, r := range append([][]string{names, rule}, rows...) {
		b.WriteString("| " + strings.Join(r, " | ") + " |\n")
	}
	return b.String()
}

func (in inputs) machine() string {
	m := in.budget.Machine
	return fmt.Sprintf("%s, %d cores, %s, %s. Measured on %s.\n", m.CPU, m.Cores, m.OS, m.Go, m.When.Format("2 January 2006"))
}

func (in inputs) budgets() string {
	all := append(slices.Clone(in.versus.Budgets), in.budget.Budgets...)
	slices.SortStableFunc(all, func(a, b laps.Budget) int {
		return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	var rows [][]string
	for _, b := range all {
		m := b.Measured
		rows = append(rows, []string{
			b.ID, b.What, fmt.Sprintf("%s %g%s", b.Bound, b.Must, b.Unit), fmt.Sprintf("%g%s", b.Aim, b.Unit),
			"**" + figure(m.Median) + b.Unit + "**", figure(m.Low) + "–" + figure(m.High), b.Verdict(), "`" + b.Bench + "`",
		})
	}
	return markdown([]string{"", "what", "must:", "aim:", "measured:", "middle half:", "met", "benchmark"}, rows)
}

func (in inputs) figures() string {
	var rows [][]string
	for _, f := range in.budget.Figures {
		m := f.Measured
		rows = append(rows, []string{f.Name, figure(m.Median) + " " + f.Unit, figure(m.Low) + "–" + figure(m.High)})
	}
	return markdown([]string{"figure", "median:", "middle half:"}, rows)
}

func (in inputs) comparison() string {
	var b strings.Builder
	for _, t := range in.versus.Tables {
		var rows [][]string
		for _, r := range t.Rows {
			name := r.Name
			if r.Weir {
				name = "**" + name + "**"
			}
			rows = append(rows, []string{name, figure(r.NS.Median), figure(r.NS.Low) + "–" + figure(r.NS.High),
				figure(r.Ratio.Median) + "×", fmt.Sprintf("%.0f", r.Mallocs), bytesPerKey(r)})
		}
		title := t.Title()
		fmt.Fprintf(&b, "%s%s\n\n%s\n", strings.ToUpper(title[:1]), title[1:],
			markdown([]string{"contestant", "ns:", "middle half:", "to weir:", "allocations:", "bytes per key:"}, rows))
	}
	return b.String()
}

func bytesPerKey(r laps.Row) string {
	if r.BytesPerKey == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", r.BytesPerKey)
}

// notes says how each contestant is used, once.
func (in inputs) notes() string {
	var rows [][]string
	seen := map[string]bool{}
	for _, t := range in.versus.Tables {
		for _, r := range slices.SortedFunc(slices.Values(t.Rows), func(a, b laps.Row) int { return cmp.Compare(a.Name, b.Name) }) {
			if id := r.Name + r.Note; !seen[id] {
				seen[id] = true
				module := r.Module
				if !r.Weir {
					module += " " + r.Version
				}
				rows = append(rows, []string{r.Name, module, r.Note})
			}
		}
	}
	return markdown([]string{"contestant", "module", "how it is used"}, rows)
}

// memory is the bytes per key at every number of keys that was measured.
func (in inputs) memory() string {
	var (
		head = []string{"bytes per key"}
		by   = map[string]map[int]float64{}
		keys = in.sizes("rate")
	)
	for _, t := range in.versus.Tables {
		if t.Group != "rate" {
			continue
		}
		for _, r := range t.Rows {
			if by[r.Name] == nil {
				by[r.Name] = map[int]float64{}
			}
			by[r.Name][t.Keys] = r.BytesPerKey
		}
	}
	for _, k := range keys {
		head = append(head, workload.Count(k)+" keys:")
	}
	last := keys[len(keys)-1]
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int {
		return cmp.Or(cmp.Compare(by[a][last], by[b][last]), cmp.Compare(a, b))
	})
	var rows [][]string
	for _, n := range names {
		row := []string{n}
		for _, k := range keys {
			row = append(row, fmt.Sprintf("%.0f", by[n][k]))
		}
		rows = append(rows, row)
	}
	return markdown(head, rows)
}

// sizes are the numbers of keys at which a group was measured, uniformly drawn.
func (in inputs) sizes(group string) []int {
	var out []int
	for _, t := range in.versus.Tables {
		if t.Group == group && t.Dist == string(workload.Uniform) && !slices.Contains(out, t.Keys) {
			out = append(out, t.Keys)
		}
	}
	slices.Sort(out)
	return out
}

// benchmarks is what every gated benchmark took in the run against itself.
func (in inputs) benchmarks() string {
	type line struct{ ns, bytes, allocs, scatter float64 }
	var names []string
	by := map[string]*line{}
	for _, v := range in.noise {
		l := by[v.Name]
		if l == nil {
			l = new(line)
			by[v.Name], names = l, append(names, v.Name)
		}
		switch v.Unit {
		case "sec/op":
			l.ns, l.scatter = v.Base*1e9, v.Scatter
		case "B/op":
			l.bytes = v.Base
		case "allocs/op":
			l.allocs = v.Base
		}
	}
	var rows [][]string
	for _, n := range names {
		l := by[n]
		rows = append(rows, []string{"`" + n + "`", figure(l.ns), fmt.Sprintf("±%.0f%%", 100*l.scatter), figure(l.bytes), figure(l.allocs)})
	}
	return markdown([]string{"benchmark", "ns/op:", "scatter:", "B/op:", "allocs/op:"}, rows)
}

// noiseTable is what comparing the working tree with itself came to.
func (in inputs) noiseTable() string {
	var deltas, scatters []float64
	counts := map[judge.Outcome]int{}
	again := 0
	for _, v := range in.noise {
		counts[v.Outcome]++
		if v.Unit != "sec/op" {
			continue
		}
		deltas, scatters = append(deltas, math.Abs(v.Delta)), append(scatters, v.Scatter)
		if v.Again {
			again++
		}
	}
	d, s := laps.Summarize(deltas), laps.Summarize(scatters)
	percent := func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) }
	return markdown([]string{"the same code on both sides", ":"}, [][]string{
		{"figures compared", fmt.Sprint(len(in.noise))},
		{"called slower, or more allocations or bytes", fmt.Sprint(counts[judge.Slower] + counts[judge.More])},
		{"times compared", fmt.Sprint(len(deltas))},
		{"measured a second time, since the first scattered or looked slower", fmt.Sprint(again)},
		{"too noisy to tell, even then", fmt.Sprint(counts[judge.Noisy])},
		{"difference of the median times: median, largest", percent(d.Median) + ", " + percent(slices.Max(deltas))},
		{"scatter of a median: median, largest", percent(s.Median) + ", " + percent(slices.Max(scatters))},
	})
}

// profileTable is the rows of pprof's -top output.
func (in inputs) profileTable() string {
	var rows [][]string
	for line := range strings.Lines(in.profile) {
		f := strings.Fields(line)
		// flat flat% sum% cum cum% name, where a name may have blanks
		if len(f) < 6 || !strings.HasSuffix(f[1], "%") {
			continue
		}
		rows = append(rows, []string{f[1], f[4], "`" + strings.Join(f[5:], " ") + "`"})
	}
	return markdown([]string{"itself:", "with what it calls:", "function"}, rows)
}

// figure writes three digits.
func figure(x float64) string {
	switch a := math.Abs(x); {
	case a >= 100 || x == math.Trunc(x):
		return fmt.Sprintf("%.0f", x)
	case a >= 10:
		return fmt.Sprintf("%.1f", x)
	case a >= 0.01:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.2g", x)
}
