package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleetredis"
	"github.com/weir-go/weir/internal/redistest"
)

// BenchmarkFleetTrouble times single decisions on a shared limit while its store
// is well, while 4096 other keys are exchanged at every tick, and while the store
// is dead or hangs, beside the same limit kept to oneself. What counts are the
// quantiles of one decision, in ns, two clock reads included.
func BenchmarkFleetTrouble(b *testing.B) {
	for _, state := range []string{"off", "well", "busy", "killed", "hung"} {
		b.Run(fmt.Sprintf("keys=1k/cores=1/sync=%s", state), func(b *testing.B) {
			limits := []engine.Limit{
				{Name: "measured", Rate: 1e9, Per: time.Second, Burst: 1e9},
				{Name: "others", Rate: 1e9, Per: time.Second, Burst: 2}, // every token of it is worth telling
			}
			cfg := engine.Config{Limits: limits, Secret: []byte("the same on every instance"), MaxEntries: 1 << 14}
			server := redistest.Start(b)
			if state != "off" {
				transport, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{server.Addr}}, fleetredis.Options{})
				require.NoError(b, err)
				f, err := fleet.New(fleet.Config{Transport: transport, MaxKeys: 1 << 14})
				require.NoError(b, err)
				cfg.Sync = f
				for i := range limits {
					limits[i].Sync.Mode = engine.SyncShare
				}
			}
			e := engine.Must(engine.New(cfg))
			defer func() { _ = e.Close() }()
			measured, others := claims(b, e, "measured", 1000), claims(b, e, "others", 4096)
			for i := range measured {
				ask(e, measured, i)
			}
			if state == "busy" {
				stop, stopped := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(stopped)
					tick := time.NewTicker(100 * time.Millisecond)
					defer tick.Stop()
					for {
						for i := range others {
							ask(e, others, i)
						}
						select {
						case <-stop:
							return
						case <-tick.C:
						}
					}
				}()
				defer func() { close(stop); <-stopped }()
			}
			if state != "off" {
				wait(b, func(s engine.FleetSnapshot) bool { return s.Acked > 0 }, e)
			}
			acked := e.Snapshot().Fleet.Acked
			switch state {
			case "killed":
				server.Kill()
			case "hung":
				server.Pause()
				defer server.Resume()
			}
			if state == "killed" || state == "hung" {
				wait(b, func(s engine.FleetSnapshot) bool { ask(e, measured, 0); return s.Down > 0 }, e)
			}
			var took redistest.Took
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				from := time.Now()
				ok := ask(e, measured, i)
				took.Add(time.Since(from))
				if !ok {
					b.Fatal("refused")
				}
				if i++; i == len(measured) {
					i = 0
				}
			}
			for _, q := range []float64{0.5, 0.99, 0.999} {
				b.ReportMetric(float64(took.Quantile(q)), fmt.Sprintf("p%v-ns", 100*q))
			}
			b.ReportMetric(float64(e.Snapshot().Fleet.Acked-acked)/b.Elapsed().Seconds(), "batches/s")
		})
	}
}

func claims(b *testing.B, e *engine.Engine, limit string, n int) [][]engine.Claim {
	id, ok := e.Limit(limit)
	require.True(b, ok)
	all := make([][]engine.Claim, n)
	for i := range all {
		all[i] = []engine.Claim{id.Claim(e.Key("user", fmt.Sprint(i)))}
	}
	return all
}

func ask(e *engine.Engine, claims [][]engine.Claim, i int) bool {
	t := e.Admit(engine.Request{Class: engine.Read, Claims: claims[i]})
	defer t.Done(engine.Success)
	return t.OK()
}

func wait(b *testing.B, until func(engine.FleetSnapshot) bool, e *engine.Engine) {
	require.Eventually(b, func() bool { return until(e.Snapshot().Fleet) }, 10*time.Second, time.Millisecond)
}
