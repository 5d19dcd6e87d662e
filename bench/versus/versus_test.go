package main

import (
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bench/internal/laps"
	"github.com/weir-go/weir/bench/internal/workload"
)

// The test binary serves as its own children.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "-child" {
		childMain(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

func TestEveryContestantLimits(t *testing.T) {
	for _, g := range groups {
		for _, c := range g.contestants {
			t.Run(g.name+"/"+c.name, func(t *testing.T) { require.NoError(t, check(c, g)) })
		}
	}
}

func TestCheckFindsContestantsThatDoNotLimit(t *testing.T) {
	rate, _ := find("rate")
	concurrency, _ := find("concurrency")
	one := func(make func(l limit, keys int) (subject, error)) contestant {
		return contestant{name: "bad", make: make}
	}

	always := one(func(limit, int) (subject, error) {
		return rateSubject(func(string) bool { return true }), nil
	})
	require.ErrorContains(t, check(always, rate), "let 40 of 40 pass, not 5")

	oneKey := one(func(l limit, _ int) (subject, error) {
		var n atomic.Int64
		return rateSubject(func(string) bool { return n.Add(1) <= l.count }), nil
	})
	require.ErrorContains(t, check(oneKey, rate), "of 40 pass, not 5")

	leaks := one(func(limit, int) (subject, error) {
		var n atomic.Int64
		take := func(string) bool { return n.Add(1) <= 5 }
		return subject{take: take, decide: take}, nil
	})
	require.ErrorContains(t, check(leaks, concurrency), "refused after everyone had left")
}

func TestContestantsRunInTurnsInTheirOwnProcesses(t *testing.T) {
	g, ok := find("rate")
	require.True(t, ok)
	g.contestants = slices.DeleteFunc(slices.Clone(g.contestants), func(c contestant) bool {
		return !c.weir && c.name != "throttled"
	})
	e := event{g, 1000, workload.Uniform}
	tables, err := e.run(options{rounds: 3, lap: time.Millisecond}, map[string]string{"github.com/throttled/throttled/v2": "v2"})
	require.NoError(t, err)
	require.NotEmpty(t, tables)
	for _, table := range tables {
		require.Len(t, table.Rows, 3)
		require.True(t, slices.IsSortedFunc(table.Rows, func(a, b laps.Row) int { return int(a.NS.Median - b.NS.Median) }))
		weir, ok := table.Row("weir")
		require.True(t, ok)
		require.Equal(t, 1.0, weir.Ratio.Median)
		peer, ok := table.FastestPeer()
		require.True(t, ok)
		require.Equal(t, "throttled", peer.Name)
		require.Equal(t, "v2", peer.Version)
		require.Equal(t, 3, peer.NS.N)
		require.Greater(t, peer.BytesPerKey, 20.0, "it keeps the text of the key")
	}
	r := laps.Report{Tables: tables}
	budgets(&r)
	ids := make([]string, len(r.Budgets))
	for i, b := range r.Budgets {
		ids[i] = b.ID
	}
	require.Equal(t, []string{"B1", "B3"}, ids)
	require.NoError(t, r.Print(t.Output()))
}

func TestAFailingContestantFailsTheRun(t *testing.T) {
	_, err := start(assignment{Group: "rate", Contestant: "nobody", Keys: 1, Dist: workload.Uniform, Lap: time.Millisecond})
	require.ErrorContains(t, err, `no contestant "nobody"`)
}

func find(name string) (group, bool) {
	i := slices.IndexFunc(groups, func(g group) bool { return g.name == name })
	if i < 0 {
		return group{}, false
	}
	return groups[i], true
}
