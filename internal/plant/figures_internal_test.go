package plant

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReversalsCountsTurns(t *testing.T) {
	for _, c := range []struct {
		levels []float64
		want   int
	}{
		{nil, 0},
		{[]float64{0, 0, 0}, 0},
		{[]float64{0, 1.5}, 0},
		{[]float64{0, 0.5, 1.5, 1.0, 0}, 1},
		{[]float64{0, 1.5, 1.41, 1.5, 0}, 1},
		{[]float64{0, 1.5, 1.39, 1.5, 0}, 3},
		{[]float64{0, 0.1, 0}, 0},
		{[]float64{0, 1, 0, 1, 0, 1}, 4},
		{[]float64{2, 0, 2}, 1},
		{[]float64{1, 1.05, 1.1, 1.15, 1.1, 1.05, 1.0}, 1}, // slow, but a swing
	} {
		require.Equal(t, c.want, reversals(c.levels), "%v", c.levels)
	}
}

func TestHeapGivesTheEarliestFirst(t *testing.T) {
	var h heap[finish]
	for _, v := range []finish{5, 1, 4, 1, 9, 2, 6} {
		h.push(v)
	}
	var got []finish
	for len(h.items) > 0 {
		got = append(got, h.pop())
	}
	require.Equal(t, []finish{1, 1, 2, 4, 5, 6, 9}, got)
}

func TestJudgeAllowsOneMissInTen(t *testing.T) {
	l, ok := LimitOf("S5_retrystorm")
	require.True(t, ok)
	good := Result{Reversals: 1, CriticalGoodput: 100, Goodput: 90, Reopened: true}
	bad := good
	bad.CriticalShed = 1
	calm := make([]Result, 10)
	for i := range calm {
		calm[i] = good
	}
	require.Empty(t, l.Judge(calm))
	calm[3] = bad
	require.Empty(t, l.Judge(calm))
	calm[4] = bad
	require.Len(t, l.Judge(calm), 2)
	require.NotEmpty(t, l.Judge([]Result{bad}))

	restless := good
	restless.Reversals = 3
	for i := range calm {
		calm[i] = restless
	}
	require.Len(t, l.Judge(calm), 1, "the median")
	require.Empty(t, l.Judge(calm[:9]))
}

func TestEveryLimitIsChecked(t *testing.T) {
	for _, l := range limits {
		met := Result{
			Reversals: l.MaxReversals, CriticalGoodput: l.CriticalGoodput, Goodput: max(l.Goodput, 1), Sick: l.Sick,
			Health: l.Health, Peak: l.Peak, OverShed: l.OverShed, Full: l.Full, Reopened: true,
		}
		require.Empty(t, l.Check(met))
		spoil := []func(r *Result){
			func(r *Result) { r.Reversals++ },
			func(r *Result) { r.CriticalShed++ },
			func(r *Result) { r.CriticalGoodput -= 0.1 },
			func(r *Result) { r.Sick++ },
			func(r *Result) { r.Peak += 0.1 },
			func(r *Result) { r.OverShed += 0.1 },
			func(r *Result) { r.Full++ },
			func(r *Result) { r.Reopened = false },
		}
		if l.Health > 0 {
			spoil = append(spoil, func(r *Result) { r.Health++ })
		}
		if l.Goodput > 0 {
			spoil = append(spoil, func(r *Result) { r.Goodput = l.Goodput - 0.1 })
		}
		for i, f := range spoil {
			r := met
			f(&r)
			require.Len(t, l.Check(r), 1, "%s %d", l.Scenario, i)
		}
	}
}
