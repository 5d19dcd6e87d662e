package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/bench/internal/laps"
	"github.com/weir-go/weir/bench/internal/workload"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleetredis"
)

// syncing: the four layers with a rate and a gate that a real Redis shares between
// instances, against the same kept to oneself. Both have the fleet's secret.
func syncing(o options, r *laps.Report) error {
	const keys = 1000
	address, stop, err := redisServer()
	if errors.Is(err, exec.ErrNotFound) {
		fmt.Fprintln(os.Stderr, "budget: redis-server is not installed: B8 is not measured")
		return nil
	}
	if err != nil {
		return err
	}
	defer stop()
	transport, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{address}}, fleetredis.Options{Shards: 4})
	if err != nil {
		return err
	}
	f, err := fleet.New(fleet.Config{Transport: transport, MaxKeys: max(2*keys, workload.Roomy)})
	if err != nil {
		return err
	}
	on, off := workload.NewSyncedRig(f, keys, "requests"), workload.NewSyncedRig(nil, keys)
	for _, g := range []*workload.Rig{on, off} {
		defer g.Close()
		g.Fill(keys)
	}
	// On one core, what the exchange does beside the decisions is in their time.
	tape := workload.NewTape(0, keys, workload.Uniform)
	out, err := o.turns(admitted(tape, 1, on), admitted(tape, 1, off))
	if err != nil {
		return err
	}
	r.Budgets = append(r.Budgets, laps.Budget{
		ID: "B8", What: "four layers with fleet sync on, 1k keys, against off",
		Bench: "BenchmarkFleetSync", Unit: "×", Bound: laps.AtMost, Must: 1.10, Aim: 1.03,
		Measured: laps.Ratio(out[0], out[1]),
	})
	r.Figure("four layers, 1k keys, sync on", "ns", laps.NS(out[0]))
	r.Figure("four layers, 1k keys, the same with sync off", "ns", laps.NS(out[1]))
	return nil
}

// redisServer starts a server without persistence on a socket of its own.
func redisServer() (address string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "weir-budget-")
	if err != nil {
		return "", nil, err
	}
	address = filepath.Join(dir, "redis.sock")
	cmd := exec.Command("redis-server", "--port", "0", "--unixsocket", address, "--save", "", "--appendonly", "no", "--dir", dir)
	if err := cmd.Start(); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: address})
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for client.Ping(ctx).Err() != nil {
		if err := ctx.Err(); err != nil {
			stop()
			return "", nil, fmt.Errorf("redis-server does not answer: %w", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return address, stop, nil
}
