package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/weir-go/weir/internal/plant"
	"github.com/weir-go/weir/ladder"
)

// What the last act claims: the damped ladder turns round at most a few times
// and keeps the goodput; flap mode turns without end and visibly loses some.
const (
	dampedTurns   = 3
	dampedGoodput = 78.0 // %
	flapTurns     = 20
	flapLoses     = 5.0 // points of goodput, at least
)

// flapResult is one scenario, damped and in flap mode, on the same arrivals.
type flapResult struct {
	Scenario string       `json:"scenario"`
	Damped   plant.Result `json:"damped"`
	Flap     plant.Result `json:"flap"`
	Failed   []string     `json:"failed"` // claims that did not hold
}

// flapAct plays, in virtual time, an overload whose clients come back cold and a
// storm of retries, once with the damped ladder and once in flap mode. It
// reports whether every claim held; result is fit for JSON.
func flapAct(ctx context.Context, w io.Writer, seed uint64) (ok bool, result any) {
	ok = true
	var results []flapResult
	for _, name := range []string{"S9", "S5"} {
		s, _ := plant.Find(name) // built in
		runs, err := plant.All(ctx, []plant.Run{
			{Scenario: s, Law: ladder.Default(), Seed: seed},
			{Scenario: s, Law: ladder.Flap(), Seed: seed},
		})
		if err != nil {
			return false, results
		}
		r := flapResult{Scenario: s.Name, Damped: runs[0], Flap: runs[1], Failed: []string{}}
		r.judge()
		drawFlap(w, s, r)
		r.Damped.Trace, r.Flap.Trace = nil, nil
		results = append(results, r)
		ok = ok && len(r.Failed) == 0
	}
	return ok, results
}

func (r *flapResult) judge() {
	claim := func(holds bool, format string, args ...any) {
		if !holds {
			r.Failed = append(r.Failed, fmt.Sprintf(format, args...))
		}
	}
	claim(r.Damped.Reversals <= dampedTurns, "damped turned %d times, at most %d claimed", r.Damped.Reversals, dampedTurns)
	claim(r.Damped.Goodput >= dampedGoodput, "damped kept %.1f %%, at least %.0f %% claimed", r.Damped.Goodput, dampedGoodput)
	claim(r.Flap.Reversals >= flapTurns, "flap mode turned %d times, at least %d claimed", r.Flap.Reversals, flapTurns)
	claim(r.Flap.Goodput <= r.Damped.Goodput-flapLoses, "flap mode kept %.1f %% against %.1f %%, %.0f points less claimed", r.Flap.Goodput, r.Damped.Goodput, flapLoses)
}

// The drawing: two panels side by side, time to the right, a row for each
// quarter of a tier.
const (
	panelColumns = 36
	panelRows    = 12
)

func drawFlap(w io.Writer, s plant.Scenario, r flapResult) {
	fmt.Fprintf(w, "\n%s: %s\n\n", s.Name, s.Description)
	left, right := panel(r.Damped.Trace, s.DurationS), panel(r.Flap.Trace, s.DurationS)
	fmt.Fprintf(w, "  %-9s %-*s  %s\n", "shed", panelColumns+1, "damped", "FLAP MODE")
	marks := map[int]string{0: "writes", 4: "reads", 8: "test mode"}
	for row := range panelRows {
		fmt.Fprintf(w, "  %-9s|%s  |%s\n", marks[row], left[row], right[row])
	}
	axis := fmt.Sprintf("0%*s", panelColumns-1, fmt.Sprintf("%.0f s", s.DurationS))
	fmt.Fprintf(w, "  %-9s+%s  +%s\n  %-9s %s   %s\n", "", strings.Repeat("-", panelColumns), strings.Repeat("-", panelColumns), "", axis, axis)
	line := func(r plant.Result) string {
		return fmt.Sprintf("%d reversals, goodput %.1f %%", r.Reversals, r.Goodput)
	}
	fmt.Fprintf(w, "  %-9s %-*s  %s\n", "", panelColumns+1, line(r.Damped), line(r.Flap))
	for _, f := range r.Failed {
		fmt.Fprintf(w, "  NOT TRUE: %s\n", f)
	}
}

// panel draws the level over time, the top row first. Within a column the level
// moved between the least and the most: '#' up to the least, ':' up to the most.
func panel(trace []plant.Point, duration float64) [panelRows]string {
	var least, most [panelColumns]float64
	for i := range least {
		least[i] = ladder.Tiers
	}
	for _, p := range trace {
		i := min(int(p.T/duration*panelColumns), panelColumns-1)
		least[i], most[i] = min(least[i], p.Level), max(most[i], p.Level)
	}
	const perRow = 3.0 / panelRows
	var rows [panelRows]string
	for row := range rows {
		from := float64(panelRows-1-row)*perRow + perRow/2
		line := make([]byte, panelColumns)
		for i := range line {
			switch {
			case least[i] >= from:
				line[i] = '#'
			case most[i] >= from:
				line[i] = ':'
			default:
				line[i] = ' '
			}
		}
		rows[row] = string(line)
	}
	return rows
}
