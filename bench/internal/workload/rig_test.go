package workload_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bench/internal/workload"
	"github.com/weir-go/weir/engine"
)

// Every rig has to do what the names of the benchmarks that use it say.
func TestRigsDecideAsTheyAreNamed(t *testing.T) {
	const keys = 100
	for _, layers := range []workload.Layers{workload.Rate, workload.Concurrency, workload.Fleet, workload.Worker, workload.All} {
		t.Run(string(layers), func(t *testing.T) {
			r := workload.NewRig(layers, workload.Nobody, keys, 0)
			defer r.Close()
			r.Fill(keys)
			for id := range 10 * keys {
				require.True(t, r.Decide(workload.Name(id%keys)))
			}
			s := r.Engine.Snapshot()
			require.Len(t, s.Limits, workload.States(layers))
			require.EqualValues(t, 11*keys, s.Admitted[engine.Read])
			require.Zero(t, s.Misuse)
			require.Zero(t, s.Gate.Other)
		})
	}
}

func TestRefusingRigsRefuseForTheReasonTheyAreNamedAfter(t *testing.T) {
	const keys = 100
	for by, want := range map[workload.By]engine.Reason{
		workload.ByRate:        engine.Limited,
		workload.ByConcurrency: engine.Full,
		workload.ByFleet:       engine.Reserved,
		workload.ByWorker:      engine.Shed,
	} {
		t.Run(string(by), func(t *testing.T) {
			r := workload.NewRig(workload.All, by, keys, 0)
			defer r.Close()
			r.Fill(keys)
			before := refused(r.Engine.Snapshot(), want)
			for id := range keys {
				require.False(t, r.Decide(workload.Name(id)))
			}
			require.EqualValues(t, keys, refused(r.Engine.Snapshot(), want)-before)
		})
	}
}

// refused counts what was refused for the reason.
func refused(s engine.Snapshot, r engine.Reason) (n uint64) {
	switch r {
	case engine.Reserved:
		return s.Gate.Refused[engine.Read]
	case engine.Shed:
		return s.Ladder.Refused[engine.Read]
	}
	for _, l := range s.Limits {
		n += l.Refused[engine.Read][r]
	}
	return n
}

// A gated benchmark that allocated by itself would hide what weir allocates.
func TestARigsDecisionAllocatesNothing(t *testing.T) {
	for _, by := range []workload.By{workload.Nobody, workload.ByRate, workload.ByFleet} {
		r := workload.NewRig(workload.All, by, 10, 0)
		r.Fill(10)
		name := workload.Name(3)
		require.Zero(t, testing.AllocsPerRun(1000, func() { r.Decide(name) }), by)
		r.Close()
	}
}

func TestANewKeyStormTimesEveryDecision(t *testing.T) {
	s := workload.NewKeyStorm(workload.Rate, 10000, 2)
	require.Equal(t, 10000, s.Decisions)
	require.LessOrEqual(t, s.Median, s.P99)
	require.LessOrEqual(t, s.P99, s.P999)
	require.LessOrEqual(t, s.P999, s.Max)
	require.Positive(t, s.Max)
}
