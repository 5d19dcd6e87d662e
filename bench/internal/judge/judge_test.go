package judge_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"

	"github.com/weir-go/weir/bench/internal/judge"
)

var rule = judge.Rule{Alpha: 0.01, Threshold: 0.10}

// recorded are the samples of one benchmark from a run of the gate with the same
// binary on both sides, on a machine with 2 cores and some 20 other processes
// that wanted them.
type recorded struct {
	name       string
	base, head map[string][]float64 // by unit
}

func load(t *testing.T) []recorded {
	t.Helper()
	read := func(file string) (names []string, by map[string]map[string][]float64) {
		by = map[string]map[string][]float64{}
		f, err := os.Open(filepath.Join("testdata", file))
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		r := benchfmt.NewReader(f, file)
		for r.Scan() {
			res, ok := r.Result().(*benchfmt.Result)
			require.True(t, ok)
			name := res.Name.String()
			if by[name] == nil {
				by[name], names = map[string][]float64{}, append(names, name)
			}
			for _, v := range res.Values {
				by[name][v.Unit] = append(by[name][v.Unit], v.Value)
			}
		}
		require.NoError(t, r.Err())
		return names, by
	}
	names, base := read("same-base.txt")
	_, head := read("same-head.txt")
	var out []recorded
	for _, n := range names {
		out = append(out, recorded{n, base[n], head[n]})
	}
	require.GreaterOrEqual(t, len(out), 20)
	return out
}

func scaled(samples []float64, by float64) []float64 {
	out := slices.Clone(samples)
	for i := range out {
		out[i] *= by
	}
	return out
}

func TestIdenticalCodeRaisesNoAlarm(t *testing.T) {
	compared, noisy := 0, 0
	for _, r := range load(t) {
		for unit := range r.base {
			v, ok := rule.Judge(r.name, unit, slices.Clone(r.base[unit]), slices.Clone(r.head[unit]))
			if unit != "sec/op" {
				require.NotEqual(t, judge.Noisy, v.Outcome, "%+v", v)
			}
			require.False(t, v.Outcome.Fails(), "%+v", v)
			if ok {
				compared++
			}
			if v.Outcome == judge.Noisy {
				noisy++
			}
		}
	}
	t.Logf("%d figures, %d noisy", compared, noisy)
}

func TestASlowdownOfAFifthIsFound(t *testing.T) {
	for _, r := range load(t) {
		const unit = "cpu-sec/op"
		v, _ := rule.Judge(r.name, unit, slices.Clone(r.base[unit]), scaled(r.head[unit], 1.2))
		require.Equal(t, judge.Slower, v.Outcome, "%+v", v)
		require.True(t, v.Outcome.Fails())
		// The other way round it is an improvement, which passes.
		v, _ = rule.Judge(r.name, unit, scaled(r.base[unit], 1.2), slices.Clone(r.head[unit]))
		require.Equal(t, judge.Faster, v.Outcome, "%+v", v)
		require.False(t, v.Outcome.Fails())
	}
}

// The time on the wall of such a machine scatters by half; then the verdict says
// so, and never that all is well.
func TestASlowdownInTheNoiseIsNotCalledTheSame(t *testing.T) {
	for _, r := range load(t) {
		const unit = "sec/op"
		v, _ := rule.Judge(r.name, unit, slices.Clone(r.base[unit]), scaled(r.head[unit], 1.2))
		require.NotEqual(t, judge.Same, v.Outcome, "%+v", v)
	}
}

func TestAPlantedAllocationIsFound(t *testing.T) {
	for _, r := range load(t) {
		for unit, more := range map[string]float64{"allocs/op": 1, "B/op": 8} {
			head := slices.Clone(r.head[unit])
			for i := range head {
				head[i] += more
			}
			v, ok := rule.Judge(r.name, unit, slices.Clone(r.base[unit]), head)
			require.True(t, ok)
			require.Equal(t, judge.More, v.Outcome, "%+v", v)
			require.True(t, v.Outcome.Fails())
		}
	}
}

// An exact figure has no distribution that a test could compare: any rise
// counts, however small.
func TestExactFigures(t *testing.T) {
	for name, c := range map[string]struct {
		base, head float64
		want       judge.Outcome
	}{
		"equal":          {3, 3, judge.Same},
		"both nothing":   {0, 0, judge.Same},
		"from nothing":   {0, 1, judge.More},
		"a byte more":    {4096, 4097, judge.More},
		"a byte less":    {4097, 4096, judge.Less},
		"down to naught": {1, 0, judge.Less},
	} {
		t.Run(name, func(t *testing.T) {
			v, ok := rule.Judge("x", "B/op", slices.Repeat([]float64{c.base}, 10), slices.Repeat([]float64{c.head}, 10))
			require.True(t, ok)
			require.Equal(t, c.want, v.Outcome)
		})
	}
}

// Bytes that scatter must rise by more than the scatter.
func TestScatteringBytes(t *testing.T) {
	a := []float64{4510, 4498, 4505, 4512, 4490, 4501, 4507, 4499, 4503, 4508}
	b := []float64{4502, 4509, 4497, 4511, 4493, 4506, 4500, 4504, 4513, 4495}
	v, _ := rule.Judge("x", "B/op", slices.Clone(a), slices.Clone(b))
	require.Equal(t, judge.Same, v.Outcome, "%+v", v)
	v, _ = rule.Judge("x", "B/op", slices.Clone(a), scaled(b, 1.02))
	require.Equal(t, judge.More, v.Outcome, "%+v", v)
	// One run in which something else allocated is no rise.
	zero := slices.Repeat([]float64{0}, 10)
	v, _ = rule.Judge("x", "allocs/op", slices.Clone(zero), append(slices.Clone(zero[1:]), 1))
	require.Equal(t, judge.Same, v.Outcome, "%+v", v)
}

func TestScatterIsCalledNoise(t *testing.T) {
	wild := []float64{10, 21, 12, 30, 11, 25, 13, 28, 10, 22}
	v, _ := rule.Judge("x", "sec/op", slices.Clone(wild), slices.Clone(wild))
	require.Equal(t, judge.Noisy, v.Outcome)
	require.False(t, v.Outcome.Fails())
}

func TestSmallDifferencesPassHoweverCertain(t *testing.T) {
	base := []float64{100, 101, 100, 101, 100, 101, 100, 101, 100, 101}
	v, _ := rule.Judge("x", "sec/op", slices.Clone(base), scaled(base, 1.05))
	require.Less(t, v.P, 0.01)
	require.Equal(t, judge.Same, v.Outcome)
}

func TestOtherFiguresAreNotJudged(t *testing.T) {
	_, ok := rule.Judge("x", "p99.9-ns", []float64{1}, []float64{2})
	require.False(t, ok)
}
