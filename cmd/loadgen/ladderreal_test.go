package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/plant"
	"github.com/weir-go/weir/ladder"
)

var plantEpoch = time.Unix(0, 0)

// The whole way once, in seconds: real clients, a real server, a pool that
// loses workers, and the ladder that answers. Its limits need minutes; see the
// test below.
func TestLadderAnswersOnARealServer(t *testing.T) {
	s, ok := plant.Find("S4")
	require.True(t, ok)
	s.DurationS, s.IncidentS = 60, [2]float64{10, 60}
	s.CapacityMult = plant.Curve{Points: [][2]float64{{10, 1}, {10, 0.5}}}
	r, err := playReal(t.Context(), s, ladder.Default(), 1, func(string) {})
	require.NoError(t, err)
	require.Greater(t, r.Peak, 0.5)
	require.Zero(t, r.CriticalShed)
	require.Greater(t, r.CriticalGoodput, r.Goodput)
	require.Less(t, r.Trace[5].Level, 0.05, "nothing is shed before the incident")
	require.Positive(t, r.Trace[5].Signal)
	require.Greater(t, r.Requests, 2000)
}

// Whole scenarios take minutes, so they run where they are asked for: one with
// WEIR_LADDER_REAL, three with WEIR_LADDER_FULL.
func TestLadderIsCalmOnARealServer(t *testing.T) {
	scenarios := []string{"S2"} // the lightest: a busy machine must not become the overload
	switch {
	case os.Getenv("WEIR_LADDER_FULL") != "":
		scenarios = []string{"S2", "S4", "S5"}
	case os.Getenv("WEIR_LADDER_REAL") == "":
		t.Skip("takes minutes: set WEIR_LADDER_REAL for one scenario, WEIR_LADDER_FULL for three")
	}
	for _, name := range scenarios {
		t.Run(name, func(t *testing.T) {
			s, ok := plant.Find(name)
			require.True(t, ok)
			r, err := playReal(t.Context(), s, ladder.Default(), 1, func(string) {})
			require.NoError(t, err)
			t.Logf("%s: %d reversals, peak %.2f, critical goodput %.1f %% of %.1f %%, open after %.0f s, skipped %.2f %%",
				r.Scenario, r.Reversals, r.Peak, r.CriticalGoodput, r.Goodput, r.Full, r.Skipped)
			require.Empty(t, r.Missed)
		})
	}
}
