package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
)

// sabotage makes every look at the limit dereference nil: its calendar is gone.
func (e *Engine) sabotage(t *testing.T, id LimitID) {
	t.Helper()
	p := *e.plan.Load()
	p.cloneLimits()
	broken, err := bucket.NewQuota(5, nil)
	require.NoError(t, err)
	p.limits[id].rule, p.limits[id].express = broken, 0
	e.plan.Store(&p)
}

// A fault inside one limit reaches nobody: that limit follows its fail policy,
// the others go on deciding, and nothing stays taken.
func TestFaultInOneLimitFollowsItsFailPolicy(t *testing.T) {
	for _, fail := range []Fail{FailOpen, FailClosed} {
		clock := NewManualClock(time.Date(2025, 6, 2, 12, 0, 0, 0, time.UTC))
		e := Must(New(Config{
			Limits: []Limit{
				{Name: "broken", Kind: Quota, Rate: 5, Window: Day, Fail: fail},
				{Name: "api", Rate: 1, Per: time.Hour, Burst: 3},
				{Name: "jobs", Kind: InFlight, Max: 10},
			},
			Gate: Gate{Capacity: 10}, Clock: clock, MaxEntries: 100,
		}))
		e.sabotage(t, 1)
		k := e.Key("u")
		for _, order := range [][]Claim{
			{LimitID(1).Claim(k), LimitID(2).Claim(k), LimitID(3).Claim(k)},
			{LimitID(3).Claim(k), LimitID(2).Claim(k), LimitID(1).Claim(k)},
		} {
			for i := range 100 {
				tk := e.Admit(Request{Class: Read, Claims: order})
				switch {
				case fail == FailClosed:
					require.Equal(t, Decision{Reason: Closed, Layer: Rate, Limit: 1, RetryAfter: time.Second}, tk.Decision())
				case i < 3 && order[0].Limit == 1:
					require.True(t, tk.OK())
				default:
					require.Equal(t, Limited, tk.Decision().Reason, "the other limit is enforced still")
					require.EqualValues(t, 2, tk.Decision().Limit)
				}
				tk.Done(Success)
			}
		}
		require.EqualValues(t, 200, e.Snapshot().Faults)
		clock.Advance(time.Second) // the ticker meets the fault too
		s := e.Snapshot()
		require.EqualValues(t, 201, s.Faults)
		require.Positive(t, s.Unguarded)
		require.Zero(t, s.Gate.Other)
		require.Zero(t, s.Limits[2].InFlight)

		// The kill switch ends it.
		require.NoError(t, e.SetMode("broken", Off))
		tk := e.Admit(Request{Class: Read, Claims: []Claim{LimitID(1).Claim(k), LimitID(3).Claim(k)}})
		require.True(t, tk.OK())
		tk.Done(Success)
		require.EqualValues(t, 201, e.Snapshot().Faults)

		// So does a new configuration.
		require.NoError(t, e.SetMode("broken", Enforce))
		require.NoError(t, e.Swap(Config{Limits: []Limit{{Name: "broken", Rate: 1, Per: time.Hour, Burst: 5, Fail: fail}}, Clock: clock, MaxEntries: 100}))
		tk = e.Admit(Request{Class: Read, Claims: []Claim{LimitID(1).ClaimN(k, 5)}})
		require.True(t, tk.OK())
		tk = e.Admit(Request{Class: Read, Claims: []Claim{LimitID(1).Claim(k)}})
		require.Equal(t, Limited, tk.Decision().Reason)
		require.NoError(t, e.Close())
	}
}

// A watching limit that breaks changes no answer, whatever its fail policy.
func TestFaultInAShadowLimitChangesNothing(t *testing.T) {
	e := Must(New(Config{
		Limits: []Limit{
			{Name: "broken", Kind: Quota, Rate: 5, Window: Day, Fail: FailClosed, Mode: Shadow},
			{Name: "api", Rate: 1, Per: time.Hour, Burst: 1},
		},
		Clock: NewManualClock(time.Date(2025, 6, 2, 12, 0, 0, 0, time.UTC)), MaxEntries: 100,
	}))
	defer e.Close()
	e.sabotage(t, 1)
	k := e.Key("u")
	claims := []Claim{LimitID(1).Claim(k), LimitID(2).Claim(k)}
	tk := e.Admit(Request{Class: Read, Claims: claims})
	require.True(t, tk.OK())
	tk.Done(Success)
	tk = e.Admit(Request{Class: Read, Claims: claims})
	require.EqualValues(t, 2, tk.Decision().Limit)
	require.EqualValues(t, 2, e.Snapshot().Faults)
}
