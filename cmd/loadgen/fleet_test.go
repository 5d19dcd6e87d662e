package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/cmd/loadgen/internal/arrival"
	"github.com/weir-go/weir/internal/redistest"
)

func TestFleetSharesALimitOverARealRedis(t *testing.T) {
	s := redistest.Start(t)
	file := filepath.Join(t.TempDir(), "f.json")
	run := func(args ...string) fleetFigures {
		code, out, stderr := loadgen(t.Context(), append([]string{"fleet", "-redis", s.Addr, "-nodes", "3", "-duration", "4s", "-burst", "50", "-json", file}, args...)...)
		require.Equal(t, exitOK, code, "%s%s", out, stderr)
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		var f fleetFigures
		require.NoError(t, json.Unmarshal(b, &f))
		return f
	}
	strict := run("-sync", "strict")
	require.LessOrEqual(t, strict.Overshoot, 25.0, "leases never exceed the limit, but for when a busy machine lets this test look at its watch")
	off := run("-sync", "off")
	require.Greater(t, off.Overshoot, 100.0, "three instances by themselves admit three bursts and more")
	require.Greater(t, off.Phases[len(off.Phases)-1].Used, 2.0)
	shared := run("-seed", "2")
	require.Less(t, shared.Phases[len(shared.Phases)-1].Used, 1.5)
	require.NotEmpty(t, shared.Report.Sections)
}

func TestFleetStopsWithAReport(t *testing.T) {
	s := redistest.Start(t)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	code, out, stderr := loadgen(ctx, "fleet", "-redis", s.Addr, "-duration", "1h")
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, out, "overshoot")
}

func TestFleetRefusesNonsense(t *testing.T) {
	for args, want := range map[string]string{
		"": "-redis: missing", "-redis x -nodes 0": "-nodes 0", "-redis x -sync maybe": "-sync", "-redis x -skew 2": "-skew", "-redis x -outage 3s": "-outage",
		"-redis x -rate 0/s": "-rate", "-redis x -rate 1000000/s": "at most 200000",
	} {
		code, _, stderr := loadgen(t.Context(), append([]string{"fleet"}, strings.Fields(args)...)...)
		require.Equal(t, exitUsage, code, args)
		require.Contains(t, stderr, want)
	}
	code, _, _ := loadgen(t.Context(), "fleet", "-redis", "nowhere")
	require.Equal(t, exitFail, code)
}

func TestOvershootIsWhatExceedsBurstAndRate(t *testing.T) {
	r := &fleetRun{options: &fleetOptions{burst: 2, limit: arrival.Rate{N: 1, Per: time.Second}}}
	at := func(seconds ...float64) (times []time.Duration) {
		for _, s := range seconds {
			times = append(times, time.Duration(s*float64(time.Second)))
		}
		return times
	}
	require.Zero(t, r.overshoot(at(0, 0, 1, 2, 10, 10)))
	require.InDelta(t, 1, r.overshoot(at(0, 0, 0)), 1e-9)
	require.InDelta(t, 1.5, r.overshoot(at(0, 0, 0.5, 0.5, 5)), 1e-9)
	require.InDelta(t, 1, r.used(at(0, 1, 2, 3, 4), time.Second, 4*time.Second), 1e-9)
	require.InDelta(t, 0.5, jain([]float64{1, 0}), 1e-9)
	require.InDelta(t, 1, jain(nil), 1e-9)
}
