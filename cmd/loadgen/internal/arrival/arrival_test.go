package arrival_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/cmd/loadgen/internal/arrival"
)

func all(p arrival.Plan) (due []time.Duration) {
	for d, ok := p.Next(); ok; d, ok = p.Next() {
		due = append(due, d)
	}
	return due
}

func constant(t *testing.T, s string) arrival.Constant {
	t.Helper()
	r, err := arrival.ParseRate(s)
	require.NoError(t, err)
	return arrival.Constant(r)
}

func TestPlannedNumberIsRateTimesDuration(t *testing.T) {
	for _, c := range []struct {
		rate string
		for_ time.Duration
		want int
	}{
		{"30/s", 30 * time.Second, 900},
		{"0.1/s", 30 * time.Second, 3},
		{"7/3s", 30 * time.Second, 70},
		{"1e6/s", time.Second, 1_000_000},
		{"3/s", time.Second, 3},
	} {
		for range 5 {
			due := all(arrival.Even(constant(t, c.rate), c.for_))
			require.Len(t, due, c.want, c.rate)
			require.Zero(t, due[0], c.rate)
		}
	}
	due := all(arrival.Even(constant(t, "30/s"), 30*time.Second))
	require.Equal(t, time.Duration(899*int64(time.Second)/30), due[899])
}

func TestNoCumulativeRounding(t *testing.T) {
	c := constant(t, "7/3s")
	for _, n := range []int64{1, 6, 7, 1e9, 1e10 + 3} {
		d, ok := c.At(n, 0)
		require.True(t, ok)
		whole, rest := n/7, n%7
		require.Equal(t, whole*3e9+rest*3e9/7, int64(d), "request %d", n)
	}
	_, ok := c.At(math.MaxInt64, 0)
	require.False(t, ok, "a time beyond 292 years is never")
}

func TestParseRateKeepsDecimalsExactly(t *testing.T) {
	for s, want := range map[string]arrival.Rate{
		"100/s": {N: 100, Per: time.Second}, "0.1/s": {N: 1, Per: 10 * time.Second}, "12": {N: 12, Per: time.Second},
		"1e6/s": {N: 1e6, Per: time.Second}, "7/3s": {N: 7, Per: 3 * time.Second}, "5/10m": {N: 5, Per: 10 * time.Minute},
		"1/ms": {N: 1, Per: time.Millisecond}, "2.5/s": {N: 5, Per: 2 * time.Second},
	} {
		r, err := arrival.ParseRate(s)
		require.NoError(t, err, s)
		require.Equal(t, want, r, s)
	}
	for _, s := range []string{"", "/s", "0/s", "-1/s", "x/s", "1/", "1/0s", "1/-3s", "NaN/s", "Inf/s", "1e999999999/s", "2e9/s", "1/2/3s", "0x10/s", "1e-40/s", "5/banana"} {
		_, err := arrival.ParseRate(s)
		require.Error(t, err, s)
	}
}

// Every curve must put the x-th request where the integral of its rate is x.
func TestCurvesInvertTheIntegralOfTheirRate(t *testing.T) {
	for name, c := range map[string]struct {
		curve arrival.Curve
		count func(t float64) float64
	}{
		"constant": {constant(t, "40/s"), func(t float64) float64 { return 40 * t }},
		"up":       {arrival.Ramp{From: 0, To: 100, Over: 10 * time.Second}, func(t float64) float64 { return 5 * t * t }},
		"down":     {arrival.Ramp{From: 100, To: 10, Over: 10 * time.Second}, func(t float64) float64 { return 100*t - 4.5*t*t }},
		"sine": {arrival.Sine{Mean: 50, Amp: 50, Period: 4 * time.Second}, func(t float64) float64 {
			return 50*t + 50/(math.Pi/2)*(1-math.Cos(math.Pi/2*t))
		}},
	} {
		for n := int64(0); n < 400; n++ {
			d, ok := c.curve.At(n, 0.25)
			require.True(t, ok, name)
			require.InDelta(t, float64(n)+0.25, c.count(d.Seconds()), 1e-5, "%s at %v", name, d)
		}
	}
}

func TestRampStaysAtItsEnd(t *testing.T) {
	r := arrival.Ramp{From: 10, To: 30, Over: 10 * time.Second} // 200 requests, then 30/s
	d, ok := r.At(260, 0)
	require.True(t, ok)
	require.Equal(t, 12*time.Second, d)
	_, ok = arrival.Ramp{From: 10, To: 0, Over: time.Second}.At(6, 0)
	require.False(t, ok, "a ramp to 0 sends no more")
}

func TestStepsCountPerPiece(t *testing.T) {
	due := all(arrival.Even(arrival.Steps{{Rate: 10, For: time.Second}, {Rate: 0, For: time.Second}, {Rate: 100, For: time.Second}}, time.Hour))
	require.Len(t, due, 110)
	require.Equal(t, 2*time.Second, due[10])
	require.Equal(t, 2*time.Second+990*time.Millisecond, due[109])
}

func TestPoissonIsSeededAndHasItsMean(t *testing.T) {
	plan := func(seed uint64) []time.Duration {
		return all(arrival.Poisson(constant(t, "1000/s"), seed, 20*time.Second))
	}
	a := plan(1)
	require.Equal(t, a, plan(1))
	require.NotEqual(t, a, plan(2))
	require.InDelta(t, 20_000, len(a), 5*math.Sqrt(20_000))
	var sum, squares float64
	for i := 1; i < len(a); i++ {
		require.GreaterOrEqual(t, a[i], a[i-1])
		gap := (a[i] - a[i-1]).Seconds() * 1000
		sum += gap
		squares += gap * gap
	}
	n := float64(len(a) - 1)
	require.InDelta(t, 1, sum/n, 0.05)
	require.InDelta(t, 2, squares/n, 0.2, "exponential gaps have a mean square of 2")
}

func TestReplayKeepsTheLogsOwnTiming(t *testing.T) {
	in := []time.Duration{5 * time.Second, 3 * time.Second, 3 * time.Second, 9 * time.Second}
	require.Equal(t, []time.Duration{0, 0, 2 * time.Second, 6 * time.Second}, all(arrival.Replay(in, 1, time.Hour)))
	require.Equal(t, []time.Duration{0, 0, time.Second}, all(arrival.Replay(in, 2, 3*time.Second)))
	require.Equal(t, 5*time.Second, in[0], "the caller's slice is untouched")
	require.Empty(t, all(arrival.Replay(nil, 1, time.Hour)))
}

func TestCheckNamesWhatIsWrong(t *testing.T) {
	require.NoError(t, arrival.Check(arrival.Sine{Mean: 1, Amp: 1, Period: time.Second}))
	for _, c := range []arrival.Curve{
		arrival.Constant{}, arrival.Ramp{From: 1, To: 2}, arrival.Ramp{Over: time.Second}, arrival.Ramp{From: math.NaN(), To: 1, Over: time.Second},
		arrival.Steps{}, arrival.Steps{{Rate: -1, For: time.Second}}, arrival.Steps{{Rate: 1}}, arrival.Sine{Mean: 1, Amp: 2, Period: time.Second},
		arrival.Sine{Mean: math.Inf(1), Period: time.Second},
	} {
		require.ErrorContains(t, arrival.Check(c), "arrival: ", "%#v", c)
	}
}
