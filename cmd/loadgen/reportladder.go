package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/report"
	"github.com/weir-go/weir/internal/plant"
)

// document reads what to show out of the JSON of a run: the report in it, or
// the list that the ladder verb writes.
func document(file string, b []byte) (d report.Document, err error) {
	var run struct {
		Report report.Document `json:"report"`
	}
	var ladder []ladderReport
	if json.Unmarshal(b, &ladder) == nil && len(ladder) > 0 && ladder[0].Scenario != "" {
		return ladderDocument(ladder), nil
	}
	if err := json.Unmarshal(b, &run); err != nil {
		return d, fmt.Errorf("%s: not the JSON of a run: %w", file, err)
	}
	if run.Report.Title == "" {
		return d, fmt.Errorf("%s: there is no report in it; write it with a verb's -json", file)
	}
	return run.Report, nil
}

// ladderDocument shows scenarios: a section each, the controllers side by side.
func ladderDocument(reports []ladderReport) report.Document {
	d := report.Document{
		Title: "The ladder in virtual time", Started: time.Now(),
		Lead: "Overloads of a simulated service, with the damped ladder and, for comparison, with its dampers out. A level of 1.4 sheds all test-mode traffic and 40 % of reads.",
	}
	sections := map[string]int{}
	for _, r := range reports {
		i, ok := sections[r.Scenario]
		if !ok {
			i = len(d.Sections)
			sections[r.Scenario] = i
			d.Sections = append(d.Sections, report.Section{Title: r.Scenario, Text: []string{r.Description}})
		}
		s := &d.Sections[i]
		for _, m := range r.Missed {
			s.Text = append(s.Text, r.Controller+": not met: "+m)
			d.Bad = d.Bad || r.Controller == "damped"
		}
		s.Tables = append(s.Tables, resultTable(r.Controller, r.Runs))
		for _, run := range r.Runs {
			if len(run.Trace) > 0 { // the first that was traced stands for all
				s.Charts = append(s.Charts, levelChart(r.Controller, run))
				break
			}
		}
	}
	d.Verdict = "The damped ladder meets its limits."
	if d.Bad {
		d.Verdict = "The damped ladder misses a limit."
	}
	return d
}

func resultTable(title string, runs []plant.Result) report.Table {
	t := report.Table{Title: title, Columns: []string{"seed", "reversals", "critical goodput", "all goodput", "sick", "to health", "peak level", "shed beyond need", "open again after"}}
	for _, r := range runs {
		open := "never"
		if r.Reopened {
			open = fmt.Sprintf("%.0f s", r.Full)
		}
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(r.Seed), fmt.Sprint(r.Reversals), fmt.Sprintf("%.1f %%", r.CriticalGoodput), fmt.Sprintf("%.1f %%", r.Goodput),
			fmt.Sprintf("%.0f s", r.Sick), fmt.Sprintf("%.0f s", r.Health), fmt.Sprintf("%.2f", r.Peak), fmt.Sprintf("%.1f %%", r.OverShed), open,
		})
	}
	return t
}

func levelChart(controller string, r plant.Result) report.Chart {
	c := report.Chart{Title: fmt.Sprintf("%s, seed %d: the level, and the signal it follows", controller, r.Seed), X: "s", Y: "tiers; utilisation up to 4"}
	level, signal := report.Series{Name: "level"}, report.Series{Name: "signal"}
	for _, p := range r.Trace {
		level.X, level.Y = append(level.X, p.T), append(level.Y, p.Level)
		signal.X, signal.Y = append(signal.X, p.T), append(signal.Y, min(p.Signal, 4))
	}
	c.Series = []report.Series{level, signal}
	if s, ok := plant.Find(r.Scenario); ok {
		c.Marks = []report.Mark{{X: s.IncidentS[0], Text: "incident"}, {X: s.IncidentS[1], Text: "over"}}
	}
	return c
}

// flapSection shows the story's last act.
func flapSection(f *flapPlayed) report.Section {
	s := report.Section{Title: fmt.Sprintf("Act %d: FLAP MODE", f.number), Text: []string{flapTells}}
	results, _ := f.result.([]flapResult)
	for _, r := range results {
		s.Tables = append(s.Tables, resultTable(r.Scenario+", damped", []plant.Result{r.Damped}), resultTable(r.Scenario+", flap mode", []plant.Result{r.Flap}))
		for _, m := range r.Failed {
			s.Text = append(s.Text, r.Scenario+": not true: "+m)
		}
	}
	return s
}
