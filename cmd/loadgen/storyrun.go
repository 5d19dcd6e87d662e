package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/report"
	"github.com/weir-go/weir/cmd/loadgen/internal/shop"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/ladder"
)

// storyRun is a story that was told, or as much of it as was.
type storyRun struct {
	started time.Time
	setting setting
	acts    []*played
	flap    *flapPlayed // nil: not chosen
}

// flapName is what -acts calls the last act.
const flapName = "flap"

const flapTells = `The same ladder with its dampers out sheds and restores at once: "I got rid of test-mode traffic! Everything is fine! I brought it back! Everything is awful!" A simulated service, in virtual time.`

// flapPlayed is the last act. It needs minutes, and a plant whose users come
// back cold, so it plays in virtual time and not on the stage.
type flapPlayed struct {
	number int
	ok     bool
	result any
}

func (f *flapPlayed) play(ctx context.Context, s setting, w io.Writer) {
	fmt.Fprintf(w, "\nAct %d: FLAP MODE\n%s\n", f.number, wrap(flapTells, 98, "  "))
	f.ok, f.result = flapAct(ctx, w, s.seed)
}

// played is one act that was played.
type played struct {
	number int
	act    act
	takes  []*take
	judged bool
	untrue []string
}

func (run *storyRun) lead() []string {
	law := ladder.Default().Faster(run.setting.scale)
	return []string{
		fmt.Sprintf("A payments API on 127.0.0.1 with %d workers and %d users; a charge takes %v, a listing %v and more. Clients wait %v. Seed %d.",
			workers, liveUsers+testUsers, shop.ChargeTime, shop.ListTime, patience, run.setting.seed),
		fmt.Sprintf("The ladder's time is compressed %g times: it ticks every %v instead of 1s, and what takes it 5 minutes takes %.1fs here. Service times and the clients' patience are as they are.",
			run.setting.scale, law.Tick, 300/run.setting.scale),
		"The tables count what was due during the incident: the same requests in both halves. p50 and p99 count from when a request was due, over all that were not refused.",
	}
}

func (run *storyRun) open(w io.Writer) {
	for _, p := range run.lead() {
		fmt.Fprintln(w, wrap(p, 100, ""))
	}
}

func (p *played) open(w io.Writer) {
	fmt.Fprintf(w, "\nAct %d: %s\n%s\n", p.number, p.act.title, wrap(p.act.tells, 98, "  "))
}

// heading names a half, with what it arms.
func heading(h half) string {
	if h.arms == "" {
		return h.name
	}
	return h.name + ": " + h.arms
}

func (p *played) show(w io.Writer, t *take) {
	fmt.Fprintln(w)
	if err := t.table().WriteText(w, "  "); err != nil {
		return // whoever read it has left
	}
}

// judge asks the act's verdict once both halves were played.
func (p *played) judge(w io.Writer) {
	without, with := p.takes[0], p.takes[1]
	p.judged, p.untrue = true, p.act.verdict(without, with)
	fmt.Fprintf(w, "\n  charges that succeed: %s %s, %s %s\n", without.half.name, report.Percent(without.charges().Share()), with.half.name, report.Percent(with.charges().Share()))
	for _, u := range p.untrue {
		fmt.Fprintf(w, "  NOT TRUE: %s\n", u)
	}
}

// late is the share of the requests that were sent late: those that come after
// a stall come all at once, which was not what was to be shown.
func (p *played) late() float64 {
	var sent, late int64
	for _, t := range p.takes {
		for _, rows := range []map[rowKey]*drive.Counts{t.rows, t.after()} {
			for _, r := range rows {
				sent, late = sent+r.Sent, late+r.Late
			}
		}
	}
	return float64(late) / float64(max(sent, 1))
}

// holds reports whether every act that was played to its end is true.
func (run *storyRun) holds() bool {
	return (run.flap == nil || run.flap.ok) &&
		!slices.ContainsFunc(run.acts, func(p *played) bool { return !p.judged || len(p.untrue) > 0 })
}

// conclude prints what came out, and reports whether the story is true.
func (run *storyRun) conclude(w io.Writer) bool {
	fmt.Fprintf(w, "\n%s (%.0f s)\n", run.verdict(), time.Since(run.started).Seconds())
	return run.holds()
}

func (run *storyRun) verdict() string {
	var untrue, cut []string
	for _, p := range run.acts {
		switch {
		case !p.judged:
			cut = append(cut, p.act.name)
		case len(p.untrue) > 0:
			untrue = append(untrue, p.act.name)
		}
	}
	if run.flap != nil && !run.flap.ok {
		untrue = append(untrue, flapName)
	}
	switch {
	case len(untrue) > 0:
		return "The story is not true: see " + strings.Join(untrue, ", ") + "."
	case len(cut) > 0:
		return "Stopped in act " + strings.Join(cut, ", ") + "; what was shown until then holds."
	}
	return "The story is true."
}

// table is the half's figures per class.
func (t *take) table() report.Table {
	tab := report.Table{Title: heading(t.half), Columns: []string{"", "offered", "served", "", "refused by", "timed out", "failed", "p50", "p99"}}
	for _, k := range ordered(t.rows) {
		r := t.rows[k]
		var refused []string
		for how, n := range r.Refused {
			refused = append(refused, fmt.Sprintf("%d× %v", n, how))
		}
		slices.Sort(refused)
		p50, p99 := "-", "-"
		if r.Response.Count() > 0 {
			p50, p99 = report.Duration(r.Response.Quantile(0.5)), report.Duration(r.Response.Quantile(0.99))
		}
		tab.Rows = append(tab.Rows, []string{
			k.String(), fmt.Sprint(r.Offered), fmt.Sprint(r.Served()), report.Percent(r.Share()), dash(strings.Join(refused, ", ")),
			dash(count(r.Ends[target.TimedOut])), dash(count(r.Ends[target.Failed] + r.Ends[target.Stopped] + r.Skipped())), p50, p99,
		})
	}
	return tab
}

func count(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// wrap breaks a paragraph into lines of at most width.
func wrap(text string, width int, indent string) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	lines = append(lines, line)
	return indent + strings.Join(lines, "\n"+indent)
}
