package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/replay"
	"github.com/weir-go/weir/cmd/loadgen/internal/report"
)

// text is what the replay has to say, in paragraphs.
func (r *replayRun) text() (lines []string) {
	p := &r.problems
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	say("%s: %d requests of %d users in %v, from %s", r.options.log, r.events, r.users, r.span.Round(time.Second), r.from.Format("2006-01-02 15:04:05 -0700"))
	if n := p.MalformedTotal(); n > 0 {
		say("%d of %d lines were passed over: %s", n, p.Lines, counted(p.Malformed, func(why string) string {
			return fmt.Sprintf("%s (first in line %d)", why, p.First[why])
		}))
	}
	if p.OutOfOrder > 0 {
		say("%d requests were not in order, by up to %v; they were put in order", p.OutOfOrder, p.Backwards)
	}
	if len(p.Methods) > 0 {
		say("unknown methods, counted as writes: %s", counted(p.Methods, func(m string) string { return m }))
	}
	if r.tally == nil {
		return lines
	}
	t := r.tally
	say("refused: %d of %d requests (%s), of %d of %d users (%s)", t.Refused, t.Requests, report.Percent(t.ShareRefused()), t.Hit(), len(t.Users), report.Percent(t.ShareHit()))
	say("near misses: %d further users were never refused but took the last there was", t.Near())
	if r.options.inFlight > 0 && !r.lasts {
		say("the log has no durations: requests end when they begin, and no in-flight limit can fill")
	}
	rate := float64(t.Requests) / max(t.Took.Seconds(), 1e-9)
	say("read in %v; decided in %v, %.1f million decisions a second; all in all %v", r.read.Round(time.Millisecond), t.Took.Round(10*time.Microsecond), rate/1e6, r.took.Round(time.Millisecond))
	return lines
}

// counted is "3 × this, 1 × that", the most frequent first, at most five.
func counted(m map[string]int, name func(string) string) string {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(-cmp.Compare(m[a], m[b]), cmp.Compare(a, b))
	})
	var parts []string
	for i, k := range keys {
		if i == 5 {
			parts = append(parts, fmt.Sprintf("and %d more kinds", len(keys)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%d × %s", m[k], name(k)))
	}
	return strings.Join(parts, ", ")
}

func (r *replayRun) print(w io.Writer) {
	for _, line := range r.text() {
		fmt.Fprintln(w, wrap(line, 110, ""))
	}
	for _, t := range r.tables() {
		fmt.Fprintln(w)
		if err := t.WriteText(w, ""); err != nil {
			return // whoever read it has left
		}
	}
}

func (r *replayRun) tables() (all []report.Table) {
	if r.tally == nil {
		return nil
	}
	t := r.tally
	by := report.Table{Title: "refused by", Columns: []string{"limit", "layer", "reason", "class", "requests", ""}}
	for _, b := range slices.SortedFunc(maps.Keys(t.By), func(a, b replay.By) int {
		return cmp.Or(cmp.Compare(a.Limit, b.Limit), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Class, b.Class))
	}) {
		by.Rows = append(by.Rows, []string{dash(b.Limit), b.Layer.String(), b.Reason.String(), b.Class.String(), fmt.Sprint(t.By[b]), report.Percent(float64(t.By[b]) / float64(t.Requests))})
	}
	top := report.Table{Title: "hit most", Columns: []string{"user", "requests", "refused", "", "of all refused"}}
	for _, u := range t.Top(r.options.top) {
		top.Rows = append(top.Rows, []string{u.Name, fmt.Sprint(u.Requests), fmt.Sprint(u.Refused), report.Percent(float64(u.Refused) / float64(u.Requests)), report.Percent(float64(u.Refused) / float64(t.Refused))})
	}
	scaled := report.Table{Title: "thresholds", Columns: []string{"limits", "requests refused", "", "users hit", "", "users at the edge"}}
	for i, s := range r.scaled {
		scaled.Rows = append(scaled.Rows, []string{
			fmt.Sprintf("× %g", r.options.scales[i]), fmt.Sprint(s.Refused), report.Percent(s.ShareRefused()), fmt.Sprint(s.Hit()), report.Percent(s.ShareHit()), fmt.Sprint(s.Near()),
		})
	}
	suggest := report.Table{Title: "the smallest that leave " + r.options.suggest + " of users untouched, each limit alone", Columns: []string{"limit", "threshold", "now", "suggested", "users untouched"}}
	for _, s := range r.suggests {
		field, best := s.Field, fmt.Sprint(s.Best)
		if s.Rate != "" {
			field += ", at a rate of " + s.Rate
		}
		if s.Best == 0 {
			best = fmt.Sprintf("none up to %d", s.Most)
		}
		suggest.Rows = append(suggest.Rows, []string{s.Limit, field, fmt.Sprint(s.Now), best, report.Percent(s.Share)})
	}
	for _, tab := range []report.Table{by, top, scaled, suggest} {
		if len(tab.Rows) > 0 {
			all = append(all, tab)
		}
	}
	return all
}

// replayFigures is a replay as -json writes it.
type replayFigures struct {
	Verb       string              `json:"verb"`
	Log        string              `json:"log"`
	Lines      int                 `json:"lines"`
	Malformed  map[string]int      `json:"malformed,omitempty"`
	Methods    map[string]int      `json:"unknown_methods,omitempty"`
	OutOfOrder int                 `json:"out_of_order"`
	Requests   int                 `json:"requests"`
	Users      int                 `json:"users"`
	Refused    int                 `json:"refused"`
	UsersHit   int                 `json:"users_hit"`
	UsersNear  int                 `json:"users_near"`
	By         []byFigures         `json:"by,omitempty"`
	Top        []replay.User       `json:"top,omitempty"`
	Thresholds []thresholdFigures  `json:"thresholds,omitempty"`
	Suggest    []replay.Suggestion `json:"suggest,omitempty"`
	Seconds    float64             `json:"seconds"`              // end to end
	PerSecond  float64             `json:"decisions_per_second"` // on parsed events
	Report     report.Document     `json:"report"`
}

type byFigures struct {
	Limit  string `json:"limit,omitempty"`
	Layer  string `json:"layer"`
	Reason string `json:"reason"`
	Class  string `json:"class"`
	Count  int    `json:"count"`
}

type thresholdFigures struct {
	Factor       float64 `json:"factor"`
	Refused      int     `json:"refused"`
	ShareRefused float64 `json:"share_refused"`
	UsersHit     int     `json:"users_hit"`
	ShareHit     float64 `json:"share_hit"`
}

func (r *replayRun) json() replayFigures {
	f := replayFigures{
		Verb: "replay", Log: r.options.log, Lines: r.problems.Lines, Malformed: r.problems.Malformed, Methods: r.problems.Methods,
		OutOfOrder: r.problems.OutOfOrder, Requests: r.events, Users: r.users, Suggest: r.suggests, Seconds: r.took.Seconds(), Report: r.document(),
	}
	if t := r.tally; t != nil {
		f.Refused, f.UsersHit, f.UsersNear, f.Top = t.Refused, t.Hit(), t.Near(), t.Top(r.options.top)
		f.PerSecond = float64(t.Requests) / max(t.Took.Seconds(), 1e-9)
		for b, n := range t.By {
			f.By = append(f.By, byFigures{b.Limit, b.Layer.String(), b.Reason.String(), b.Class.String(), n})
		}
	}
	for i, s := range r.scaled {
		f.Thresholds = append(f.Thresholds, thresholdFigures{r.options.scales[i], s.Refused, s.ShareRefused(), s.Hit(), s.ShareHit()})
	}
	return f
}

func (r *replayRun) document() report.Document {
	text := r.text()
	return report.Document{
		Title: "Recorded traffic against a policy", Lead: text[0], Started: r.started,
		Sections: []report.Section{{Title: "Who would have been refused", Text: text[1:], Tables: r.tables(), Charts: r.charts()}},
	}
}

// charts draw the table of thresholds.
func (r *replayRun) charts() []report.Chart {
	if len(r.scaled) < 2 {
		return nil
	}
	c := report.Chart{Title: "what a factor on the limits would refuse", X: "limits ×", Y: "%"}
	requests, users := report.Series{Name: "requests refused"}, report.Series{Name: "users hit"}
	for i, s := range r.scaled {
		requests.X, requests.Y = append(requests.X, r.options.scales[i]), append(requests.Y, 100*s.ShareRefused())
		users.X, users.Y = append(users.X, r.options.scales[i]), append(users.Y, 100*s.ShareHit())
	}
	c.Series = []report.Series{requests, users}
	return []report.Chart{c}
}
