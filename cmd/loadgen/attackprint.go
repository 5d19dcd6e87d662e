package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/record"
	"github.com/weir-go/weir/cmd/loadgen/internal/report"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
)

// quantiles are the latencies that are shown.
var quantiles = []struct {
	name string
	q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}}

func (a *attack) lead() string {
	what := a.options.rate + " " + a.options.shape + ", " + a.options.arrivals
	if a.options.replay != "" {
		what = fmt.Sprintf("the times of %s, %g times as fast", a.options.replay, a.options.speed)
	}
	stopped := ""
	if a.stopped {
		stopped = "; stopped by the user"
	}
	return fmt.Sprintf("%s for %v at %s, %d users, seed %d; it took %.1f s%s", a.options.url, a.options.duration, what, len(a.load.users), a.options.seed, a.took.Seconds(), stopped)
}

func (a *attack) verdict() string {
	switch {
	case len(a.missed) > 0:
		return "Not met: " + strings.Join(a.missed, "; ")
	case len(a.options.objectives) > 0:
		return "All objectives are met."
	}
	return ""
}

func (a *attack) print(w io.Writer) {
	fmt.Fprintln(w, wrap(a.lead(), 100, ""))
	for _, t := range []report.Table{a.endTable(), a.latencyTable(), a.otherTable()} {
		if len(t.Rows) > 0 {
			fmt.Fprintln(w)
			if err := t.WriteText(w, ""); err != nil {
				return // whoever read it has left
			}
		}
	}
	if sum := a.total(); sum.Response.Count() > 0 {
		fmt.Fprintln(w, "\nlatency from when a request was due")
		printBars(w, sum.Response)
	}
	if v := a.verdict(); v != "" {
		fmt.Fprintf(w, "\n%s\n", v)
	}
}

// printBars draws a histogram in text.
func printBars(w io.Writer, h *record.Histogram) {
	const width = 50
	bars := h.Bars()
	var most, sum int64
	for _, b := range bars {
		most = max(most, b.Count)
	}
	for _, b := range bars {
		sum += b.Count
		n := int((b.Count*width + most - 1) / most)
		fmt.Fprintf(w, "  up to %8s %9d  %-*s %s\n", report.Duration(b.UpTo), b.Count, width, strings.Repeat("#", n), report.Percent(float64(sum)/float64(h.Count())))
	}
	if n := h.Saturated(); n > 0 {
		fmt.Fprintf(w, "  above %8s %9d  (counted at it; the longest was %s)\n", report.Duration(record.Highest), n, report.Duration(h.Max()))
	}
}

// each calls f for every class that was offered, the most important first, and
// for all together when there is more than one.
func (a *attack) each(f func(name string, c *drive.Counts)) {
	n := 0
	for class := engine.Critical; class >= engine.Test; class-- {
		if c := a.classes[class]; c != nil {
			f(class.String(), c)
			n++
		}
	}
	if n != 1 {
		f("all", a.total())
	}
}

func (a *attack) endTable() report.Table {
	t := report.Table{Columns: []string{"", "offered", "skipped", "sent", "late", "served", "", "refused", "timed out", "failed"}}
	a.each(func(name string, c *drive.Counts) {
		t.Rows = append(t.Rows, []string{
			name, fmt.Sprint(c.Offered), dash(count(c.Skipped())), fmt.Sprint(c.Sent), dash(count(c.Late)), fmt.Sprint(c.Served()),
			report.Percent(c.Share()), dash(count(c.Ends[target.Refused])), dash(count(c.Ends[target.TimedOut])),
			dash(count(c.Ends[target.Failed] + c.Ends[target.Stopped])),
		})
	})
	return t
}

func (a *attack) latencyTable() report.Table {
	t := report.Table{Columns: []string{"latency, refusals left out"}}
	for _, q := range quantiles {
		t.Columns = append(t.Columns, q.name)
	}
	t.Columns = append(t.Columns, "mean")
	a.each(func(name string, c *drive.Counts) {
		for _, h := range []struct {
			name string
			h    *record.Histogram
		}{{name + ", from when it was due", c.Response}, {name + ", from when it was sent", c.Service}} {
			if h.h.Count() == 0 {
				continue
			}
			row := []string{h.name}
			for _, q := range quantiles {
				row = append(row, report.Duration(h.h.Quantile(q.q)))
			}
			t.Rows = append(t.Rows, append(row, report.Duration(h.h.Mean())))
		}
	})
	return t
}

// otherTable says who refused and what failed.
func (a *attack) otherTable() report.Table {
	t := report.Table{Columns: []string{"refused by, failed with", "requests"}}
	sum := a.total()
	for how, n := range sum.Refused {
		t.Rows = append(t.Rows, []string{how.String(), fmt.Sprint(n)})
	}
	for why, n := range sum.Errors {
		t.Rows = append(t.Rows, []string{why, fmt.Sprint(n)})
	}
	slices.SortFunc(t.Rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return t
}

// attackFigures is an attack as -json writes it.
type attackFigures struct {
	Verb        string           `json:"verb"`
	URL         string           `json:"url"`
	Seconds     float64          `json:"seconds"`
	Stopped     bool             `json:"stopped"`
	Valid       bool             `json:"valid"`
	Missed      []string         `json:"missed,omitempty"`
	MaxInFlight int              `json:"max_in_flight"`
	Classes     []classFigures   `json:"classes"` // "all" is the last
	Errors      map[string]int64 `json:"errors,omitempty"`
	Report      report.Document  `json:"report"`
}

type classFigures struct {
	Class    string             `json:"class"`
	Offered  int64              `json:"offered"`
	Sent     int64              `json:"sent"`
	AtCap    int64              `json:"skipped_at_cap"`
	Behind   int64              `json:"skipped_behind"`
	Late     int64              `json:"late"`
	Served   int64              `json:"served"`
	Refused  []refuseFigures    `json:"refused,omitempty"`
	TimedOut int64              `json:"timed_out"`
	Failed   int64              `json:"failed"`
	Stopped  int64              `json:"stopped"`
	Response map[string]float64 `json:"response_ms"` // from when a request was due
	Service  map[string]float64 `json:"service_ms"`  // from when it was sent
	Above    int64              `json:"saturated"`   // latencies above a minute
}

func (a *attack) json() attackFigures {
	f := attackFigures{
		Verb: "attack", URL: a.options.url, Seconds: a.took.Seconds(), Stopped: a.stopped, Valid: a.invalid == "", Missed: a.missed,
		MaxInFlight: a.options.maxInFlight, Errors: a.total().Errors, Report: a.document(),
	}
	latencies := func(h *record.Histogram) map[string]float64 {
		m := map[string]float64{"mean": ms(h.Mean())}
		for _, q := range quantiles {
			m[q.name] = ms(h.Quantile(q.q))
		}
		return m
	}
	a.each(func(name string, c *drive.Counts) {
		k := classFigures{
			Class: name, Offered: c.Offered, Sent: c.Sent, AtCap: c.AtCap, Behind: c.Behind, Late: c.Late, Served: c.Served(),
			TimedOut: c.Ends[target.TimedOut], Failed: c.Ends[target.Failed], Stopped: c.Ends[target.Stopped],
			Response: latencies(c.Response), Service: latencies(c.Service), Above: c.Response.Saturated(),
		}
		for how, n := range c.Refused {
			k.Refused = append(k.Refused, refuseFigures{how.Layer, how.Status, n})
		}
		f.Classes = append(f.Classes, k)
	})
	return f
}

func (a *attack) document() report.Document {
	d := report.Document{Title: "loadgen attack", Lead: a.lead(), Started: a.started, Verdict: a.verdict(), Bad: len(a.missed) > 0}
	perSecond := report.Chart{Title: "requests by the second in which they were due", X: "s", Y: "requests"}
	worst := report.Chart{Title: "longest latency, by the second in which the request was due", X: "s", Y: "ms"}
	lines := [5]report.Series{{Name: "offered"}, {Name: "served"}, {Name: "refused"}, {Name: "otherwise"}, {Name: "longest"}}
	for i, s := range a.seconds {
		for j, v := range [5]float64{float64(s.Offered), float64(s.Served), float64(s.Refused), float64(s.Other), ms(s.Worst)} {
			lines[j].X = append(lines[j].X, float64(i))
			lines[j].Y = append(lines[j].Y, v)
		}
	}
	perSecond.Series, worst.Series = lines[:4], lines[4:]
	spread := report.Chart{Title: "latency from when a request was due", X: "share of requests, %", Y: "ms", Log: true}
	a.each(func(name string, c *drive.Counts) {
		line := report.Series{Name: name}
		for p := 1; p <= 1000 && c.Response.Count() > 0; p++ {
			line.X = append(line.X, float64(p)/10)
			line.Y = append(line.Y, ms(max(c.Response.Quantile(float64(p)/1000), time.Microsecond)))
		}
		spread.Series = append(spread.Series, line)
	})
	d.Sections = []report.Section{{
		Title:  "What became of the requests",
		Tables: []report.Table{a.endTable(), a.latencyTable(), a.otherTable()},
		Charts: []report.Chart{perSecond, worst, spread},
	}}
	return d
}
