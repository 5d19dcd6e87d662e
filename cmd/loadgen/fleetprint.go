package main

import (
	"fmt"
	"io"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/report"
)

func (r *fleetRun) lead() string {
	o := r.options
	s := fmt.Sprintf("%d instances share (%s) a limit of %v, burst %d, for each of %d users, who ask for %g times as much, skew %g; %.1f s, seed %d", o.nodes, o.sync, o.limit, o.burst, o.users, o.demand, o.skew, r.took.Seconds(), o.seed)
	if o.latency > 0 {
		s += fmt.Sprintf("; every answer of the Redis %v late", o.latency)
	}
	if o.outLast > 0 {
		s += fmt.Sprintf("; cut off from %v for %v", o.outAt, o.outLast)
	}
	if r.stopped {
		s += "; stopped by the user"
	}
	return s
}

// worst is the largest overshoot of any user, in requests.
func (r *fleetRun) worst() (worst float64) {
	for _, times := range r.admitted {
		worst = max(worst, r.overshoot(times))
	}
	return worst
}

// phase is a stretch of the run.
type phase struct {
	name     string
	from, to time.Duration
}

// phases are before, during and after the outage, or all of it; the first
// seconds, in which bursts are spent, are one of their own.
func (r *fleetRun) phases() (all []phase) {
	warm := time.Duration(float64(r.options.burst) / r.options.limit.PerSecond() * float64(time.Second) / max(r.options.demand-1, 0.5))
	warm = min(warm+time.Second, r.took/2)
	o, end := r.options, r.took
	all = append(all, phase{"bursts are spent", 0, warm})
	if o.outLast == 0 || o.outAt >= end {
		return append(all, phase{"steady", warm, end})
	}
	if o.outAt > warm {
		all = append(all, phase{"before the outage", warm, o.outAt})
	}
	back := min(o.outAt+o.outLast, end)
	all = append(all, phase{"cut off", o.outAt, back})
	if back < end {
		all = append(all, phase{"after it", back, end})
	}
	return all
}

// jain is Jain's index of how alike the values are: 1 when all are equal, 1/n
// when one has everything.
func jain(values []float64) float64 {
	var sum, squares float64
	for _, v := range values {
		sum += v
		squares += v * v
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(values)) * squares)
}

// fairness is how alike the instances' admitted shares of what they were
// offered are, and the users' numbers of admitted requests.
func (r *fleetRun) fairness() (nodes, users float64) {
	var shares, got []float64
	for _, n := range r.nodes {
		if n.offered > 0 {
			shares = append(shares, float64(n.admitted)/float64(n.offered))
		}
	}
	for _, times := range r.admitted {
		got = append(got, float64(len(times)))
	}
	return jain(shares), jain(got)
}

func (r *fleetRun) text() []string {
	nodes, users := r.fairness()
	worst := r.worst()
	return []string{
		fmt.Sprintf("overshoot: at the worst moment a user was %.0f requests above its limit (%.0f %% of its burst)", worst, 100*worst/float64(r.options.burst)),
		fmt.Sprintf("fairness (Jain's index, 1 is best): %.3f between the instances, by the share that each admits of what it is offered; %.3f between the users", nodes, users),
	}
}

func (r *fleetRun) print(w io.Writer) {
	fmt.Fprintln(w, wrap(r.lead(), 100, ""))
	for _, t := range []report.Table{r.phaseTable(), r.nodeTable()} {
		fmt.Fprintln(w)
		if err := t.WriteText(w, ""); err != nil {
			return // whoever read it has left
		}
	}
	fmt.Fprintln(w)
	for _, p := range r.text() {
		fmt.Fprintln(w, wrap(p, 100, ""))
	}
}

func (r *fleetRun) phaseTable() report.Table {
	t := report.Table{Title: "admitted, of what the limits allow", Columns: []string{"", "from", "to", "mean", "least user", "most user"}}
	for _, p := range r.phases() {
		if p.to-p.from < 100*time.Millisecond {
			continue
		}
		least, most, sum := 1e18, 0.0, 0.0
		for _, times := range r.admitted {
			u := r.used(times, p.from, p.to)
			least, most, sum = min(least, u), max(most, u), sum+u
		}
		percent := func(f float64) string { return fmt.Sprintf("%.1f %%", 100*f) } // above 100 is the point
		t.Rows = append(t.Rows, []string{
			p.name, fmt.Sprintf("%.1f s", p.from.Seconds()), fmt.Sprintf("%.1f s", p.to.Seconds()),
			percent(sum / float64(len(r.admitted))), percent(least), percent(most),
		})
	}
	return t
}

func (r *fleetRun) nodeTable() report.Table {
	t := report.Table{Columns: []string{"instance", "offered", "admitted", "", "exchanges", "failed", "instances it knows"}}
	for i, n := range r.nodes {
		t.Rows = append(t.Rows, []string{
			fmt.Sprint(i + 1), fmt.Sprint(n.offered), fmt.Sprint(n.admitted), report.Percent(float64(n.admitted) / float64(max(n.offered, 1))),
			fmt.Sprint(n.sync.Acked), fmt.Sprint(n.sync.Errors), fmt.Sprint(n.sync.Instances),
		})
	}
	return t
}

// fleetFigures is a fleet's run as -json writes it.
type fleetFigures struct {
	Verb      string          `json:"verb"`
	Nodes     int             `json:"nodes"`
	Sync      string          `json:"sync"`
	Overshoot float64         `json:"overshoot"` // requests, of one user at the worst moment
	Phases    []phaseFigures  `json:"phases"`
	NodesJain float64         `json:"nodes_jain"`
	UsersJain float64         `json:"users_jain"`
	Report    report.Document `json:"report"`
}

type phaseFigures struct {
	Name string  `json:"name"`
	From float64 `json:"from_s"`
	To   float64 `json:"to_s"`
	Used float64 `json:"used"` // share of what the limits allow, mean of the users
}

func (r *fleetRun) json() fleetFigures {
	f := fleetFigures{Verb: "fleet", Nodes: r.options.nodes, Sync: r.options.sync, Overshoot: r.worst(), Report: r.document()}
	f.NodesJain, f.UsersJain = r.fairness()
	for _, p := range r.phases() {
		sum := 0.0
		for _, times := range r.admitted {
			sum += r.used(times, p.from, p.to)
		}
		f.Phases = append(f.Phases, phaseFigures{p.name, p.from.Seconds(), p.to.Seconds(), sum / float64(len(r.admitted))})
	}
	return f
}

func (r *fleetRun) document() report.Document {
	c := report.Chart{Title: "admitted by instance, and what the fleet may admit", X: "s", Y: "requests a second"}
	seconds := int(r.took / time.Second)
	limit, all := report.Series{Name: "limit"}, report.Series{Name: "all"}
	var lines []report.Series
	for i := range r.nodes {
		lines = append(lines, report.Series{Name: fmt.Sprint(i + 1)})
	}
	for s := range seconds {
		sum := int64(0)
		for i, n := range r.nodes {
			v := int64(0)
			if s < len(n.perSecond) {
				v = n.perSecond[s]
			}
			sum += v
			lines[i].X, lines[i].Y = append(lines[i].X, float64(s)), append(lines[i].Y, float64(v))
		}
		all.X, all.Y = append(all.X, float64(s)), append(all.Y, float64(sum))
		limit.X, limit.Y = append(limit.X, float64(s)), append(limit.Y, r.options.limit.PerSecond()*float64(r.options.users))
	}
	c.Series = append(c.Series, all, limit)
	if len(lines) <= 4 { // more are not told apart
		c.Series = append(c.Series, lines...)
	}
	if r.options.outLast > 0 {
		c.Marks = []report.Mark{{X: r.options.outAt.Seconds(), Text: "cut off"}, {X: (r.options.outAt + r.options.outLast).Seconds(), Text: "back"}}
	}
	return report.Document{
		Title: "A fleet over one Redis", Lead: r.lead(), Started: r.started,
		Sections: []report.Section{{Title: "What the fleet admitted", Text: r.text(), Tables: []report.Table{r.phaseTable(), r.nodeTable()}, Charts: []report.Chart{c}}},
	}
}
