package gate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/weir-go/weir/gate"
)

// service is a plant: capacity requests at a time take rtt each, more than that
// share it.
type service struct {
	t        *testing.T
	gate     gate.Gate
	limit    *gate.Adaptive
	now      time.Duration
	capacity int
	rtt      time.Duration
}

func newService(t *testing.T, cfg gate.AdaptiveConfig, capacity int, rtt time.Duration) *service {
	t.Helper()
	a, err := gate.NewAdaptive(cfg)
	require.NoError(t, err)
	return &service{t: t, limit: a, capacity: capacity, rtt: rtt}
}

// offer keeps so many requests in flight, as far as the limit lets them in, for
// a number of seconds.
func (s *service) offer(inFlight, seconds int) {
	for end := s.now + time.Duration(seconds)*time.Second; s.now < end; {
		s.gate.Resize(s.limit.Limit(), 0)
		in := 0
		for in < inFlight && s.gate.Enter(false) {
			in++
		}
		if in == 0 {
			return
		}
		latency := s.rtt * time.Duration(max(in, s.capacity)) / time.Duration(s.capacity)
		s.now += latency
		for range in {
			s.limit.Observe(s.now, latency, gate.Success, s.gate.Others())
			s.gate.Leave(false)
		}
	}
	require.Zero(s.t, s.gate.Others())
}

func TestAdaptiveFollowsTheCapacity(t *testing.T) {
	s := newService(t, gate.AdaptiveConfig{}, 100, 20*time.Millisecond)
	s.offer(1000, 120)
	require.InDelta(t, 150, s.limit.Limit(), 40, "at the tolerance of 1.5 it settles at 1.5 times the capacity")
	s.capacity = 20
	s.offer(1000, 60)
	require.LessOrEqual(t, s.limit.Limit(), 40)
	s.capacity = 100
	s.offer(1000, 60)
	require.GreaterOrEqual(t, s.limit.Limit(), 100)
}

func TestAdaptiveLeavesTheFloorWhenTheBaselineWasMeasuredTooLow(t *testing.T) {
	s := newService(t, gate.AdaptiveConfig{Min: 4}, 50, time.Millisecond)
	s.offer(4, 5) // cache hits
	require.Less(t, s.limit.Baseline(), 2*time.Millisecond)
	s.rtt = 20 * time.Millisecond // the truth, without any queue
	s.offer(200, 10)
	floor := s.now
	for s.limit.Limit() < 40 {
		s.offer(200, 1)
		require.Less(t, s.now-floor, 30*time.Second, "pinned at %d", s.limit.Limit())
	}
}

func TestAdaptiveBaselineDoesNotDriftInALongIncident(t *testing.T) {
	s := newService(t, gate.AdaptiveConfig{}, 100, 10*time.Millisecond)
	s.offer(60, 120)
	healthy := s.limit.Limit()
	s.rtt = 5 * time.Second
	s.offer(60, 60)
	early := s.limit.Limit()
	s.offer(60, 29*60)
	require.LessOrEqual(t, s.limit.Limit(), early)
	s.rtt = 10 * time.Millisecond
	s.offer(60, 60)
	require.GreaterOrEqual(t, float64(s.limit.Limit()), 0.8*float64(min(healthy, 60)))
}

func TestAdaptiveDoesNotCreepUpUnderMildOverload(t *testing.T) {
	a, err := gate.NewAdaptive(gate.AdaptiveConfig{Initial: 20, Tolerance: 1})
	require.NoError(t, err)
	now := time.Duration(0)
	window := func(latency time.Duration) {
		for range 20 {
			now += 60 * time.Millisecond
			a.Observe(now, latency, gate.Success, 20)
		}
	}
	window(10 * time.Millisecond)
	window(10 * time.Millisecond)
	window(12500 * time.Microsecond) // closes the window that was open
	start := a.Limit()
	for range 1000 {
		window(a.Baseline() * 5 / 4) // a gradient of 0.8, whatever the baseline has come to be
		require.LessOrEqual(t, float64(a.Limit()), 1.1*float64(start))
	}
}

func TestAdaptiveLearnsNothingFromTooLittle(t *testing.T) {
	a, err := gate.NewAdaptive(gate.AdaptiveConfig{})
	require.NoError(t, err)
	start := a.Limit()
	for s := range 3600 { // one request a second for an hour: nobody meets the limit
		a.Observe(time.Duration(s)*time.Second, 10*time.Millisecond, gate.Success, 1)
	}
	require.Equal(t, start, a.Limit())
	for s := range 100 { // clients that went away say nothing
		a.Observe(time.Duration(4000+s)*time.Second, time.Hour, gate.Ignored, 1000)
	}
	require.Equal(t, start, a.Limit())
}

func TestAdaptiveBacksOffWhenRequestsAreDropped(t *testing.T) {
	a, err := gate.NewAdaptive(gate.AdaptiveConfig{Initial: 100})
	require.NoError(t, err)
	for i := range 100 {
		o := gate.Success
		if i%5 == 0 {
			o = gate.Dropped
		}
		a.Observe(time.Duration(i)*100*time.Millisecond, 10*time.Millisecond, o, 100)
	}
	require.Less(t, a.Limit(), 60)
}

func TestAdaptiveConfigErrorsNameFieldAndValue(t *testing.T) {
	_, err := gate.NewAdaptive(gate.AdaptiveConfig{Min: -1, Max: -2, Initial: -3, Window: 1, Tolerance: 0.5})
	for _, part := range []string{"min -1", "max -2", "initial -3", "window 1ns", "tolerance 0.5"} {
		require.ErrorContains(t, err, part)
	}
}

func TestAdaptiveAllocatesNothing(t *testing.T) {
	a, err := gate.NewAdaptive(gate.AdaptiveConfig{})
	require.NoError(t, err)
	now := time.Duration(0)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		now += 50 * time.Millisecond
		a.Observe(now, 10*time.Millisecond, gate.Success, 1)
	}))
}

func TestAdaptiveGoesBackToItsBaselineWhenAnIncidentHeals(t *testing.T) {
	s := newService(t, gate.AdaptiveConfig{}, 50, 10*time.Millisecond)
	s.offer(200, 120)
	s.rtt = 100 * time.Millisecond
	s.offer(200, 300)
	s.rtt = 10 * time.Millisecond
	s.offer(200, 120)
	require.LessOrEqual(t, s.limit.Limit(), 125)
	require.GreaterOrEqual(t, s.limit.Limit(), 40)
}
