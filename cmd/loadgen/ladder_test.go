package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/plant"
	"github.com/weir-go/weir/ladder"
)

// runLadder runs a command line and returns its exit code and both outputs.
func runLadder(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(ctx, append([]string{"ladder"}, args...), &out, &err)
	return code, out.String(), err.String()
}

func TestLadderVerbShowsBothControllers(t *testing.T) {
	code, out, stderr := runLadder(t.Context(), "-scenario", "S5", "-controller", "both", "-seeds", "2")
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, out, "S5_retrystorm  damped")
	require.Contains(t, out, "meets its limits")
	require.Contains(t, out, "misses its limits")
}

func TestLadderVerbPrintsEveryRunAsJSON(t *testing.T) {
	code, out, stderr := runLadder(t.Context(), "-scenario", "S5", "-controller", "damped", "-seeds", "3", "-json", "-trace")
	require.Equal(t, exitOK, code, stderr)
	var reports []ladderReport
	require.NoError(t, json.Unmarshal([]byte(out), &reports))
	require.Len(t, reports, 1)
	r := reports[0]
	require.True(t, r.Limited)
	require.Empty(t, r.Missed)
	require.Len(t, r.Runs, 3)
	require.NotEqual(t, r.Runs[0].Seed, r.Runs[1].Seed)
	require.Len(t, r.Runs[0].Trace, 1319, "a point a second")

	_, again, _ := runLadder(t.Context(), "-scenario", "S5", "-controller", "damped", "-seeds", "3", "-json", "-trace")
	require.Equal(t, out, again, "the same seeds give the same runs")
}

func TestLadderVerbFailsWhenDampedMissesALimit(t *testing.T) {
	s, _ := plant.Find("S1")
	s.Workers = 12 // half of what even critical traffic needs
	line, err := json.Marshal(s)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "plant.json")
	require.NoError(t, os.WriteFile(file, line, 0o600))
	code, out, stderr := runLadder(t.Context(), "-scenario", file, "-seeds", "1")
	require.Equal(t, exitFail, code, stderr)
	require.Contains(t, out, "S1_step2x seed 501: ")

	s.Name = "mine" // limits are of the built-in ones only
	line, err = json.Marshal(s)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, line, 0o600))
	code, out, _ = runLadder(t.Context(), "-scenario", file, "-seeds", "1")
	require.Equal(t, exitOK, code)
	require.NotContains(t, out, "limits")
}

func TestLadderVerbListsWhatItCanReadBack(t *testing.T) {
	code, out, _ := runLadder(t.Context(), "-list")
	require.Equal(t, exitOK, code)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 9)
	for i, line := range lines {
		s, err := plant.Parse(strings.NewReader(line))
		require.NoError(t, err)
		require.Equal(t, plant.Scenarios()[i], s)
	}
}

func TestLadderVerbRejectsBadFlags(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	require.NoError(t, os.WriteFile(bad, []byte(`{"name":"x","wokers":3}`), 0o600))
	for want, args := range map[string][]string{
		`-scenario "S10": not a built-in`: {"-scenario", "S10"},
		`unknown field "wokers"`:          {"-scenario", bad},
		`-controller "pid": must be`:      {"-controller", "pid"},
		`-seeds 0: must be from 1`:        {"-seeds", "0"},
		`-max 5: must be from 0 to 4`:     {"-max", "5"},
		`-max NaN: must be from 0 to 4`:   {"-max", "NaN"},
		`-real: takes one scenario`:       {"-real"},
		`unexpected argument "S5"`:        {"S5"},
		`flag provided but not defined`:   {"-speed", "3"},
	} {
		code, out, stderr := runLadder(t.Context(), args...)
		require.Equal(t, exitUsage, code, args)
		require.Contains(t, stderr, want)
		require.Empty(t, out)
	}
	code, _, stderr := runLadder(t.Context(), "-h")
	require.Equal(t, exitOK, code)
	require.Contains(t, stderr, "loadgen ladder -scenario S5 -controller both")
}

func TestLadderVerbStopsWhenAsked(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, args := range [][]string{{"-seeds", "1000"}, {"-sweep"}, {"-real", "-scenario", "S5"}} {
		code, out, stderr := runLadder(ctx, args...)
		require.Equal(t, exitFail, code)
		require.Contains(t, stderr, "loadgen ladder: stopped")
		require.Empty(t, out)
	}
}

// The last act's claims, for more seeds than the story tells.
func TestFlapActHolds(t *testing.T) {
	for seed := range uint64(3) {
		var out bytes.Buffer
		ok, result := flapAct(t.Context(), &out, seed+1)
		require.True(t, ok, out.String())
		r := result.([]flapResult)
		require.Len(t, r, 2)
		require.Contains(t, out.String(), "FLAP MODE")
		require.Contains(t, out.String(), "reversals, goodput")
		_, err := json.Marshal(result)
		require.NoError(t, err)
	}
}

func TestFlapActSaysWhatIsNotTrue(t *testing.T) {
	r := flapResult{
		Damped: plant.Result{Reversals: 4, Goodput: 70},
		Flap:   plant.Result{Reversals: 19, Goodput: 69},
	}
	r.judge()
	require.Len(t, r.Failed, 4)
}

func TestPanelDrawsTheLevel(t *testing.T) {
	var trace []plant.Point
	for i := range 360 {
		p := plant.Point{T: float64(i)}
		switch {
		case i >= 300:
			p.Level = float64(i % 2 * 3) // flaps
		case i >= 180:
			p.Level = 1
		}
		trace = append(trace, p)
	}
	rows := panel(trace, 360)
	require.Equal(t, strings.Repeat(" ", 30)+"::::::", rows[0])
	require.Equal(t, strings.Repeat(" ", 18)+strings.Repeat("#", 12)+"::::::", rows[panelRows-1])
}

// The picture and the tables of a sweep, on made-up figures.
func TestSweepIsToldInTablesAndAPicture(t *testing.T) {
	var r sweepResult
	for l := range sweepLaws {
		var byTick [][]cell
		for range sweepTicks {
			row := make([]cell, len(sweepDelays))
			for d := range row {
				row[d] = cell{reversals: float64(d + l*10), peak: 1.5, critical: 99, runs: 3}
			}
			byTick = append(byTick, row)
		}
		r.delays = append(r.delays, byTick)
	}
	for range sweepGains {
		r.gains = append(r.gains, make([]cell, len(sweepGains)))
	}
	r.variants, r.bursts = make([]cell, len(variants)), make([]cell, len(variants))
	var table, svg strings.Builder
	r.print(&table)
	require.Contains(t, table.String(), "- damped, tick 1 s: rings from 20 s on")
	require.Contains(t, table.String(), "| `Arm` 10 s |")
	require.Contains(t, table.String(), "- flap, tick 10 s: rings from 0 s on")
	r.draw(&svg)
	require.Contains(t, svg.String(), "</svg>")
	require.Equal(t, len(sweepLaws)*len(sweepTicks), strings.Count(svg.String(), "<polyline"))
}

func TestVariantsAreValidLaws(t *testing.T) {
	for _, v := range variants {
		law := ladder.Default()
		v.change(&law)
		require.NoError(t, law.Validate(), v.name)
	}
}

func TestSweepStampsOnlyWhatItSays(t *testing.T) {
	require.Nil(t, delayRun("damped", 1, 5).Tamper)
	stamped := ladder.Reading{Value: 1, At: plantEpoch, OK: true}
	for _, law := range sweepLaws[1:] {
		require.True(t, delayRun(law, 1, 5).Tamper(0, stamped).At.IsZero(), law)
	}
}
