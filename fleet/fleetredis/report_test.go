package fleetredis_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleetredis"
	"github.com/weir-go/weir/internal/redistest"
)

// TestReport prints what a fleet of engines in this process admits and costs. It
// is for docs/fleet.md, and runs in full only.
func TestReport(t *testing.T) {
	if !full() {
		t.Skip("WEIR_FLEET=full prints the table")
	}
	fmt.Println("| instances | period | offered | admitted/due | calls/s | kB/s in | kB/s out | server CPU |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for _, n := range []int{2, 10, 100} {
		for _, period := range []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond} {
			for _, times := range []float64{0.8, 3} {
				report(t, n, period, times)
			}
		}
	}
}

// report measures n engines that exchange every period, and are offered times
// their limit.
func report(t *testing.T, n int, period time.Duration, times float64) {
	srv := redistest.Start(t)
	defer srv.Kill()
	engines := make([]*engine.Engine, n)
	for i := range engines {
		tr, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{srv.Addr}}, fleetredis.Options{})
		require.NoError(t, err)
		f, err := fleet.New(fleet.Config{Transport: tr, Period: period, MaxKeys: 100})
		require.NoError(t, err)
		engines[i], err = engine.New(engine.Config{Limits: limits(), Secret: secret, Sync: f, MaxEntries: 1000})
		require.NoError(t, err)
		defer func() { require.NoError(t, engines[i].Close()) }()
	}
	heard(t, engines, n)
	client := redis.NewClient(&redis.Options{Addr: srv.Addr})
	defer client.Close()
	number := func(section, name string) (x float64) {
		m, err := client.InfoMap(context.Background(), section).Result()
		require.NoError(t, err)
		for _, fields := range m {
			_, _ = fmt.Sscan(strings.TrimPrefix(fields[name], "calls="), &x)
		}
		return x
	}
	figures := func() [4]float64 {
		return [4]float64{number("commandstats", "cmdstat_evalsha"), number("stats", "total_net_input_bytes"), number("stats", "total_net_output_bytes"),
			number("cpu", "used_cpu_user") + number("cpu", "used_cpu_sys")}
	}
	drive(engines, "api", times*faultRate, 2*time.Second, nil)
	const lasts = 6 * time.Second
	before := figures()
	d := drive(engines, "api", times*faultRate, lasts, nil)
	after := figures()
	var sum int64
	for _, x := range d.perSecond {
		sum += x
	}
	per := func(i int) float64 { return (after[i] - before[i]) / lasts.Seconds() }
	fmt.Printf("| %d | %v | %.1f r | %.4f | %.0f | %.1f | %.1f | %.1f %% |\n", n, period, times,
		float64(sum)/lasts.Seconds()/min(faultRate, times*faultRate), per(0), per(1)/1e3, per(2)/1e3, 100*per(3))
}
