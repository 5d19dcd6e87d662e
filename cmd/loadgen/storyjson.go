package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/report"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
)

// storyFigures is a story as -json writes it.
type storyFigures struct {
	Verb    string          `json:"verb"`
	Seed    uint64          `json:"seed"`
	Scale   float64         `json:"scale"`
	True    bool            `json:"true"`
	Seconds float64         `json:"seconds"`
	Acts    []actFigures    `json:"acts"`
	Flap    any             `json:"flap,omitempty"`
	Report  report.Document `json:"report"`
}

type actFigures struct {
	Name   string        `json:"name"`
	Title  string        `json:"title"`
	Tells  string        `json:"tells"`
	True   bool          `json:"true"`
	Untrue []string      `json:"untrue,omitempty"`
	Halves []halfFigures `json:"halves"`
}

type halfFigures struct {
	Name         string       `json:"name"`
	Arms         string       `json:"arms,omitempty"`
	ChargesShare float64      `json:"charges_share"`
	Rows         []rowFigures `json:"rows"`
	Aftermath    []rowFigures `json:"aftermath,omitempty"`
	Samples      []sample     `json:"samples"`
}

type rowFigures struct {
	Class    string          `json:"class"`
	Group    string          `json:"group,omitempty"`
	Offered  int64           `json:"offered"`
	Served   int64           `json:"served"`
	Refused  []refuseFigures `json:"refused,omitempty"`
	TimedOut int64           `json:"timed_out"`
	Failed   int64           `json:"failed"`
	Stopped  int64           `json:"stopped"`
	Skipped  int64           `json:"skipped"`
	Late     int64           `json:"late"` // sent more than 10 ms late by the generator
	P50      float64         `json:"p50_ms"`
	P99      float64         `json:"p99_ms"`
	Max      float64         `json:"max_ms"`
}

type refuseFigures struct {
	Layer  string `json:"layer"`
	Status int    `json:"status"`
	Count  int64  `json:"count"`
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func (run *storyRun) json() storyFigures {
	f := storyFigures{
		Verb: "story", Seed: run.setting.seed, Scale: run.setting.scale, True: run.holds(),
		Seconds: time.Since(run.started).Seconds(), Report: run.document(),
	}
	if run.flap != nil {
		f.Flap = run.flap.result
	}
	for _, p := range run.acts {
		a := actFigures{Name: p.act.name, Title: p.act.title, Tells: p.act.tells, True: p.judged && len(p.untrue) == 0, Untrue: p.untrue}
		for _, t := range p.takes {
			a.Halves = append(a.Halves, halfFigures{
				Name: t.half.name, Arms: t.half.arms, ChargesShare: t.charges().Share(),
				Rows: figures(t.rows), Aftermath: figures(t.after()), Samples: t.samples,
			})
		}
		f.Acts = append(f.Acts, a)
	}
	return f
}

func figures(rows map[rowKey]*drive.Counts) (out []rowFigures) {
	for _, k := range ordered(rows) {
		r := rows[k]
		f := rowFigures{
			Class: k.class.String(), Group: k.group, Offered: r.Offered, Served: r.Served(), TimedOut: r.Ends[target.TimedOut],
			Failed: r.Ends[target.Failed], Stopped: r.Ends[target.Stopped], Skipped: r.Skipped(), Late: r.Late,
			P50: ms(r.Response.Quantile(0.5)), P99: ms(r.Response.Quantile(0.99)), Max: ms(r.Response.Max()),
		}
		for how, n := range r.Refused {
			f.Refused = append(f.Refused, refuseFigures{how.Layer, how.Status, n})
		}
		out = append(out, f)
	}
	return out
}

// document is the story to look at.
func (run *storyRun) document() report.Document {
	d := report.Document{
		Title: "The four layers on real requests", Lead: strings.Join(run.lead(), " "), Started: run.started,
		Verdict: run.verdict(), Bad: !run.holds(),
	}
	for _, p := range run.acts {
		sec := report.Section{Title: fmt.Sprintf("Act %d: %s", p.number, p.act.title), Text: append([]string{p.act.tells}, p.untrue...)}
		for _, t := range p.takes {
			sec.Tables = append(sec.Tables, t.table())
			sec.Charts = append(sec.Charts, t.charts()...)
		}
		d.Sections = append(d.Sections, sec)
	}
	if run.flap != nil {
		d.Sections = append(d.Sections, flapSection(run.flap))
	}
	return d
}

// charts draw a half over time: what each class got, and how the shop was.
func (t *take) charts() []report.Chart {
	marks := []report.Mark{{X: t.times.begin.Seconds(), Text: "incident"}, {X: t.times.end.Seconds(), Text: "over"}}
	served := report.Chart{Title: t.half.name + ": served of offered, by class", X: "s", Y: "%", Marks: marks}
	for c := engine.Critical; c >= engine.Test; c-- {
		line := report.Series{Name: c.String()}
		for i, b := range t.buckets {
			if b[c].Offered > 0 {
				line.X = append(line.X, (time.Duration(i) * bucketWidth).Seconds())
				line.Y = append(line.Y, 100*float64(b[c].Served)/float64(b[c].Offered))
			}
		}
		served.Series = append(served.Series, line)
	}
	state := report.Chart{Title: t.half.name + ": the shop", X: "s", Y: "requests; ladder level", Marks: marks}
	for _, line := range []struct {
		name string
		of   func(sample) float64
	}{
		{"workers busy", func(s sample) float64 { return float64(s.Busy) }},
		{"waiting for one", func(s sample) float64 { return float64(s.Queued) }},
		{"ladder level", func(s sample) float64 { return s.Level }},
	} {
		series := report.Series{Name: line.name}
		for _, s := range t.samples {
			series.X = append(series.X, s.At.Seconds())
			series.Y = append(series.Y, line.of(s))
		}
		state.Series = append(state.Series, series)
	}
	return []report.Chart{served, state}
}
