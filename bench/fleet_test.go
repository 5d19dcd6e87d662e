package bench

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bench/internal/workload"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleetredis"
	"github.com/weir-go/weir/internal/redistest"
)

// BenchmarkFleetSync is the four layers with a rate and a gate that a real Redis
// shares between instances, beside the same kept to oneself.
func BenchmarkFleetSync(b *testing.B) {
	const keys = 1e3
	for _, cores := range []int{1, 2} {
		name := func(sync string) string {
			return fmt.Sprintf("keys=1k/dist=uniform/cores=%d/layers=all/sync=%s/state=known", cores, sync)
		}
		run := func(b *testing.B, f engine.Syncer, shared ...string) {
			rig := workload.NewSyncedRig(f, keys, shared...)
			defer rig.Close()
			rig.Fill(keys)
			drive(b, cores, tape(keys, workload.Uniform), rig.Decide, true)
		}
		b.Run(name("off"), func(b *testing.B) { run(b, nil) })
		for what, shared := range map[string][]string{"rate": {"requests"}, "all": {"requests", "inside"}} {
			b.Run(name(what), func(b *testing.B) {
				server := redistest.Start(b)
				transport, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{server.Addr}}, fleetredis.Options{Shards: 4})
				require.NoError(b, err)
				f, err := fleet.New(fleet.Config{Transport: transport, MaxKeys: max(2*keys, workload.Roomy)})
				require.NoError(b, err)
				run(b, f, shared...)
			})
		}
	}
}
