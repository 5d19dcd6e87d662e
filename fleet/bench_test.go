package fleet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleettest"
)

// engineOf makes an engine with one token bucket, an in-flight limit, a gate and
// a ladder; synced: the bucket is shared with a fleet in this process.
func engineOf(b testing.TB, synced bool, rate int64) *engine.Engine {
	cfg := engine.Config{
		Limits: []engine.Limit{
			{Name: "api", Rate: rate, Per: time.Second, Burst: rate},
			{Name: "jobs", Kind: engine.InFlight, Max: 1000},
		},
		Gate:   engine.Gate{Capacity: 1000, Reserve: 0.2},
		Secret: []byte("sixteen bytes or more"), MaxEntries: 1 << 16,
	}
	if synced {
		f, err := fleet.New(fleet.Config{Transport: fleettest.NewTransport(16)})
		require.NoError(b, err)
		cfg.Limits[0].Sync.Mode, cfg.Sync = engine.SyncShare, f
	}
	e := engine.Must(engine.New(cfg))
	b.Cleanup(func() { _ = e.Close() })
	return e
}

// BenchmarkSync compares decisions on a limit of one instance with those on a
// limit that is shared.
func BenchmarkSync(b *testing.B) {
	for _, claims := range []int{1, 2} {
		for _, refused := range []bool{false, true} {
			for _, keys := range []int{1, 1000} {
				for _, synced := range []bool{false, true} {
					b.Run(fmt.Sprintf("claims=%d/refused=%v/keys=%d/synced=%v", claims, refused, keys, synced), func(b *testing.B) {
						rate := int64(1_000_000_000)
						if refused {
							rate = 1
						}
						e := engineOf(b, synced, rate)
						api, _ := e.Limit("api")
						jobs, _ := e.Limit("jobs")
						ids := make([][2]engine.Claim, keys)
						for i := range ids {
							k := e.Key("user", fmt.Sprint(i))
							ids[i] = [2]engine.Claim{api.Claim(k), jobs.Claim(k)}
							tk := e.Admit(engine.Request{Class: engine.Read, Claims: ids[i][:1]})
							tk.Done(engine.Success)
						}
						b.ReportAllocs()
						i := 0
						for b.Loop() {
							tk := e.Admit(engine.Request{Class: engine.Read, Claims: ids[i][:claims]})
							tk.Done(engine.Success)
							if i++; i == keys {
								i = 0
							}
						}
					})
				}
			}
		}
	}
}

// BenchmarkSyncContended is one key on all cores.
func BenchmarkSyncContended(b *testing.B) {
	for _, synced := range []bool{false, true} {
		b.Run(fmt.Sprintf("synced=%v", synced), func(b *testing.B) {
			e := engineOf(b, synced, 1_000_000_000)
			api, _ := e.Limit("api")
			k := e.Key("user")
			b.SetParallelism(4)
			b.RunParallel(func(pb *testing.PB) {
				claims := []engine.Claim{api.Claim(k)}
				for pb.Next() {
					tk := e.Admit(engine.Request{Class: engine.Read, Claims: claims})
					tk.Done(engine.Success)
				}
			})
		})
	}
}
