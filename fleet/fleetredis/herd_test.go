package fleetredis_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleetredis"
	"github.com/weir-go/weir/internal/redistest"
)

// Many instances whose server was away do not all come at once, and none
// knocks more than a few times a second while it is away.
func TestHerd(t *testing.T) {
	skipFaults(t)
	n := 30
	if full() {
		n = 100
	}
	srv := redistest.Start(t)
	var dials atomic.Int64
	engines := make([]*engine.Engine, n)
	for i := range engines {
		tr, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{srv.Addr},
			Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				dials.Add(1)
				var d net.Dialer
				return d.DialContext(ctx, network, addr)
			}}, fleetredis.Options{})
		require.NoError(t, err)
		f, err := fleet.New(fleet.Config{Transport: tr, MaxKeys: 100})
		require.NoError(t, err)
		engines[i], err = engine.New(engine.Config{Limits: []engine.Limit{bucket(1000, 200)}, Secret: secret, Sync: f, MaxEntries: 1000})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, engines[i].Close()) })
	}
	heard(t, engines, n)
	client := redis.NewClient(&redis.Options{Addr: srv.Addr})
	defer client.Close()
	calls := func() (n int64) {
		info, err := client.InfoMap(context.Background(), "commandstats").Result()
		require.NoError(t, err)
		for name, v := range info["Commandstats"] {
			if name == "cmdstat_evalsha" || name == "cmdstat_eval" {
				var c int64
				for _, r := range v[len("calls="):] {
					if r == ',' {
						break
					}
					c = 10*c + int64(r-'0')
				}
				n += c
			}
		}
		return n
	}
	rate := 1500.0
	drive(engines, "api", rate, 2*time.Second, nil)
	before := calls()
	drive(engines, "api", rate, 2*time.Second, nil)
	steady := float64(calls()-before) / 2
	srv.Kill()
	drive(engines, "api", rate, time.Second, nil) // it counts as cut off from here on
	from := dials.Load()
	drive(engines, "api", rate, 2*time.Second, nil)
	knocks := float64(dials.Load()-from) / 2 / float64(n)
	srv.Restart()
	from = dials.Load()
	var firstTenth int64
	drive(engines, "api", rate, time.Second, func(at time.Duration) {
		if at < 100*time.Millisecond {
			firstTenth = dials.Load() - from
		}
	})
	first := float64(calls())
	came := dials.Load() - from
	t.Logf("steady %.0f calls/s; away: %.1f dials/s each; back: %d dials in the first 100 ms, %d in the first second, %.0f calls", steady, knocks, firstTenth, came, first)
	require.LessOrEqual(t, knocks, 20.0)
	require.LessOrEqual(t, came, int64(2.5*float64(n)))
	require.LessOrEqual(t, first, 2*steady)
}
