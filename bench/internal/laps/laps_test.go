package laps_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bench/internal/laps"
	"github.com/weir-go/weir/bench/internal/workload"
)

func TestTurnsGiveEveryContestantEveryPlace(t *testing.T) {
	const n = 4
	var order []int
	out, err := laps.Turns(n, 2*n, func(c int) (laps.Lap, error) {
		order = append(order, c)
		return laps.Lap{NS: float64(c)}, nil
	})
	require.NoError(t, err)
	first := map[int]int{}
	for round := range 2 * n {
		turn := order[round*n : (round+1)*n]
		require.ElementsMatch(t, []int{0, 1, 2, 3}, turn)
		first[turn[0]]++
	}
	require.Equal(t, map[int]int{0: 2, 1: 2, 2: 2, 3: 2}, first)
	for c := range n {
		require.Len(t, out[c], 2*n)
		require.Equal(t, float64(c), laps.NS(out[c]).Median)
	}
}

func TestTurnsStopAtTheFirstError(t *testing.T) {
	_, err := laps.Turns(2, 2, func(int) (laps.Lap, error) { return laps.Lap{}, errors.New("broken") })
	require.EqualError(t, err, "broken")
}

func TestRatioIsTakenWithinARound(t *testing.T) {
	// The machine halves its speed for half of the rounds; b always takes twice
	// as long as a.
	var a, b []laps.Lap
	for i := range 10 {
		slow := 1 + float64(i%2)
		a, b = append(a, laps.Lap{NS: 10 * slow}), append(b, laps.Lap{NS: 20 * slow})
	}
	require.Equal(t, laps.Measured{Median: 0.5, Low: 0.5, High: 0.5, N: 10}, laps.Ratio(a, b))
}

func TestLapMakesEveryDecisionAndChecksIt(t *testing.T) {
	var calls atomic.Int64
	yes := func(string) bool { calls.Add(1); return true }
	for _, cores := range []int{1, 2} {
		calls.Store(0)
		r := laps.Runner{Tape: workload.NewTape(0, 10, workload.Uniform), Cores: cores, Decide: []func(string) bool{yes}, Want: true}
		l, err := r.Lap(8000)
		require.NoError(t, err)
		require.Positive(t, l.NS)
		require.EqualValues(t, 9000, calls.Load(), "the warm-up's 1000 and 8000")

		r.Want = false
		_, err = r.Lap(80)
		require.ErrorContains(t, err, "90 decisions were not false")
	}
}

func TestLapCountsAllocations(t *testing.T) {
	var keep []byte
	r := laps.Runner{Tape: workload.NewTape(0, 10, workload.Uniform), Cores: 1, Want: true,
		Decide: []func(string) bool{func(string) bool { keep = make([]byte, 64); return true }}}
	l, err := r.Lap(10000)
	require.NoError(t, err)
	require.NotNil(t, keep)
	require.InDelta(t, 1, l.Mallocs, 0.05)
	require.InDelta(t, 64, l.Bytes, 5)
}

func TestSummarize(t *testing.T) {
	require.Equal(t, laps.Measured{Median: 3, Low: 2, High: 4, N: 5}, laps.Summarize([]float64{5, 1, 4, 2, 3}))
	require.Equal(t, laps.Measured{Median: 1.5, Low: 1.25, High: 1.75, N: 2}, laps.Summarize([]float64{1, 2}))
	require.Equal(t, laps.Measured{Median: 7, Low: 7, High: 7, N: 1}, laps.Summarize([]float64{7}))
}

func TestBudgetVerdicts(t *testing.T) {
	b := laps.Budget{Bound: laps.AtMost, Must: 0.5, Aim: 0.2}
	for measured, want := range map[float64]string{0.1: "aim", 0.2: "aim", 0.3: "must", 0.51: "MISSED"} {
		b.Measured.Median = measured
		require.Equal(t, want, b.Verdict())
	}
	b = laps.Budget{Bound: laps.AtLeast, Must: 0.85, Aim: 0.97}
	for measured, want := range map[float64]string{0.98: "aim", 0.9: "must", 0.8: "MISSED"} {
		b.Measured.Median = measured
		require.Equal(t, want, b.Verdict())
	}
}
