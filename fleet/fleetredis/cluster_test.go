package fleetredis_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet/fleetredis"
	"github.com/weir-go/weir/internal/redistest"
)

// The shards are spread evenly over the nodes of a cluster, by the slots that
// the server itself computes.
func TestTagsSpreadOverACluster(t *testing.T) {
	srv := redistest.Start(t, "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(redistest.FreePort(t)))
	client := redis.NewClient(&redis.Options{Addr: srv.Addr})
	defer client.Close()
	for _, n := range []int{1, 4, 16, 64, 256} {
		perNode := make([]int, 3)
		last := int64(-1)
		for _, tag := range fleetredis.Tags(n) {
			slot, err := client.ClusterKeySlot(context.Background(), "weir1v16:{"+tag+"}:r:x").Result()
			require.NoError(t, err)
			require.Greater(t, slot, last, "in order, and none twice")
			last = slot
			perNode[slot*3/16384]++
		}
		for _, got := range perNode {
			require.InDelta(t, float64(n)/3, float64(got), 1)
		}
	}
}

// users drives many users through a fleet, each at three times its limit, and
// returns what each was admitted by second, as parts of the limit.
func users(engines []*engine.Engine, n int, rate float64, lasts time.Duration, each func(time.Duration)) [][]float64 {
	got := make([][]float64, n)
	for i := range got {
		got[i] = make([]float64, int(lasts/time.Second)+1)
	}
	id, _ := engines[0].Limit("api")
	i := 0
	redistest.Pace(3*rate*float64(n), lasts, each, func(at time.Duration) {
		if ok, _ := redistest.Ask(engines[i/n%len(engines)], id, "user", fmt.Sprint(i%n)); ok {
			got[i%n][int(at/time.Second)] += 1 / rate
		}
		i++
	})
	return got
}

// onNode returns which of the users have their bucket on the node.
func onNode(t *testing.T, e *engine.Engine, n int, node *redistest.Server) map[int]bool {
	client := redis.NewClient(&redis.Options{Addr: node.Addr})
	defer client.Close()
	names, err := client.Keys(context.Background(), "*:r:api:*").Result()
	require.NoError(t, err)
	all := strings.Join(names, " ")
	on := map[int]bool{}
	for i := range n {
		k := e.Key("user", fmt.Sprint(i))
		var id [16]byte
		for j := range 8 {
			id[j], id[8+j] = byte(k.H>>(56-8*j)), byte(k.P>>(56-8*j))
		}
		if strings.Contains(all, hex.EncodeToString(id[:])) {
			on[i] = true
		}
	}
	return on
}

func addresses(nodes []*redistest.Server) (addrs []string) {
	for _, s := range nodes {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

// A primary without a replica dies: its keys go on in parts, all others do not
// notice. Where the cluster insists on full coverage, all go on in parts.
func TestOnePrimaryOfAClusterDies(t *testing.T) {
	skipFaults(t)
	const n, rate = 18, 100
	for _, coverage := range []string{"no", "yes"} {
		t.Run("full coverage "+coverage, func(t *testing.T) {
			nodes := redistest.Cluster(t, 3, "--cluster-require-full-coverage", coverage)
			engines := fleetOf(t, 4, []engine.Limit{bucket(rate, rate/2)}, addresses(nodes)...)
			heard(t, engines, 4)
			killed := false
			var dead map[int]bool
			lasts := seconds(9, 14)
			got := users(engines, n, rate, lasts, func(at time.Duration) {
				if !killed && at >= 3*time.Second {
					killed = true
					dead = onNode(t, engines[0], n, nodes[1])
					nodes[1].Kill()
				}
			})
			require.NotEmpty(t, dead)
			require.Less(t, len(dead), n)
			var live, cut []float64
			for i := range got {
				after := got[i][5:int(lasts/time.Second)]
				if dead[i] {
					cut = append(cut, average(after))
				} else {
					live = append(live, average(after))
				}
			}
			t.Logf("live %.3f cut %.3f", live, cut)
			within(t, 0.6, 2, cut)
			if coverage == "no" {
				within(t, 0.97, 1.03, live)
			} else {
				within(t, 0.6, 2, live)
			}
		})
	}
}

// Slots with keys of the fleet move to another node under load.
func TestSlotsMoveToAnotherNode(t *testing.T) {
	skipFaults(t)
	const n, rate = 12, 100
	nodes := redistest.Cluster(t, 3)
	engines := fleetOf(t, 4, []engine.Limit{bucket(rate, rate/2)}, addresses(nodes)...)
	heard(t, engines, 4)
	id := func(s *redistest.Server) string {
		line, err := s.Do("CLUSTER", "MYID")
		require.NoError(t, err)
		return strings.TrimSpace(line[strings.Index(line, "\n")+1:])
	}
	from, to := id(nodes[0]), id(nodes[1])
	moved := make(chan string, 1)
	started := false
	lasts := seconds(10, 14)
	got := users(engines, n, rate, lasts, func(at time.Duration) {
		if !started && at >= 2*time.Second {
			started = true
			go func() {
				out, err := exec.Command("redis-cli", "--cluster", "reshard", nodes[2].Addr, "--cluster-from", from, "--cluster-to", to,
					"--cluster-slots", "1600", "--cluster-yes").CombinedOutput()
				moved <- fmt.Sprint(err, " ", string(out[max(0, len(out)-200):]))
			}()
		}
	})
	t.Log(<-moved)
	slots, err := nodes[1].Do("CLUSTER", "COUNTKEYSINSLOT", "512")
	require.NoError(t, err)
	t.Logf("keys in slot 512: %s", slots)
	for i := range got {
		parts := got[i][1:int(lasts/time.Second)]
		within(t, 0.94, 1.06, []float64{average(parts)})
	}
	for _, e := range engines {
		s := e.Snapshot().Fleet
		t.Logf("resent %d duplicates %d down %v", s.Resent, s.Duplicates, s.DownTime)
	}
}

// A cluster that insists on full coverage is told of.
func TestFullCoverageIsSaid(t *testing.T) {
	nodes := redistest.Cluster(t, 3)
	var log records
	instance(t, slog.New(slog.NewTextHandler(&log, nil)), limits(), addresses(nodes)...)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "cluster-require-full-coverage is yes") }, 5*time.Second, 10*time.Millisecond, "%s", &log)
}
