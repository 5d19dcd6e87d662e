package fleet_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleetredis"
	"github.com/weir-go/weir/internal/redistest"
	"github.com/weir-go/weir/key"
)

// exchange is one instance over a real server whose ticks are made by hand, one
// after the other: what a tick costs, without what runs beside it.
type exchange struct {
	t      testing.TB
	f      *fleet.Fleet
	tr     *fleetredis.Transport
	client *redis.Client
	api    engine.Shared
	keys   []key.Key
	now    int64
	calls  int // carried out
}

func (x *exchange) Now() int64               { return x.now }
func (x *exchange) Wall() time.Time          { return time.Unix(1e9, x.now) }
func (x *exchange) Logger() *slog.Logger     { return slog.New(slog.DiscardHandler) }
func (x *exchange) GateUse() engine.GateUse  { return engine.GateUse{} }
func (*exchange) LeaseGate(engine.GateLease) {}

func newExchange(t testing.TB, keys int) *exchange {
	srv := redistest.Start(t)
	x := &exchange{t: t, now: int64(time.Hour), client: redis.NewClient(&redis.Options{Addr: srv.Addr})}
	t.Cleanup(func() { _ = x.client.Close() })
	var err error
	x.tr, err = fleetredis.New(redis.UniversalOptions{Addrs: []string{srv.Addr}}, fleetredis.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = x.tr.Close() })
	x.f, err = fleet.New(fleet.Config{Transport: x.tr, MaxKeys: 2 * keys})
	require.NoError(t, err)
	x.f.Manual(x, 1)
	l := tokenBucket(1000, 2) // every token of it is worth telling
	x.api, err = x.f.Bind(engine.Binding{ID: 1, Limit: l, Rule: rule(t, l)})
	require.NoError(t, err)
	for i := range keys {
		x.keys = append(x.keys, keyOf(i))
	}
	for range 3 {
		x.spend()
		x.tick()
	}
	return x
}

// spend charges every key once.
func (x *exchange) spend() {
	for _, k := range x.keys {
		x.api.Take(k, x.now, 1)
	}
}

// tick exchanges all that there is to tell.
func (x *exchange) tick() {
	x.now += int64(120 * time.Millisecond)
	calls := x.f.Step(x.now, true)
	for len(calls) > 0 {
		c := calls[0]
		calls = calls[1:]
		boot, batches, beat, _ := c.Parts()
		if beat != nil {
			r, err := x.tr.Beat(context.Background(), boot, beat)
			require.NoError(x.t, err)
			c.Answer(r, nil)
		} else {
			x.tr.Push(context.Background(), boot, batches)
			for _, b := range batches {
				require.NoError(x.t, b.Err)
				x.calls++
			}
		}
		if x.f.Done(c, x.now) {
			calls = append(calls, x.f.Step(x.now, false)...)
		}
	}
}

// scripts returns how often the server ran a script, and for how long in all.
func (x *exchange) scripts() (calls, us float64) {
	info, err := x.client.InfoMap(context.Background(), "commandstats").Result()
	require.NoError(x.t, err)
	for name, v := range info["Commandstats"] {
		if name != "cmdstat_evalsha" {
			continue
		}
		for _, f := range strings.Split(v, ",") {
			n, x, _ := strings.Cut(f, "=")
			val, _ := strconv.ParseFloat(x, 64)
			switch n {
			case "calls":
				calls = val
			case "usec":
				us = val
			}
		}
	}
	return calls, us
}

// An exchange allocates at most once a key, for the name that the client is
// given, and a fixed amount a call; and it takes a call a shard and one more.
func TestAnExchangeAllocatesOnceAKey(t *testing.T) {
	const few, many = 200, 1000
	measure := func(keys int) (allocs, calls float64) {
		x := newExchange(t, keys)
		x.calls = 0
		const runs = 10
		allocs = testing.AllocsPerRun(runs, func() {
			x.spend()
			x.tick()
		})
		require.Zero(t, x.f.Snapshot().Pending)
		return allocs, float64(x.calls) / (runs + 1)
	}
	a, calls := measure(few)
	b, more := measure(many)
	perKey := (b - a) / (many - few)
	t.Logf("%.0f allocations for %d keys, %.0f for %d: %.3f a key; %.1f and %.1f calls", a, few, b, many, perKey, calls, more)
	require.LessOrEqual(t, perKey, 1.0)
	require.LessOrEqual(t, a-few, 16.0*40)
	require.LessOrEqual(t, more, 16.0)
}

// BenchmarkExchange is one tick with a thousand keys that have something to
// tell, over a real server on loopback: the processor time of this process, as a
// part of one core at a tick every 100 ms, and that of the server a key.
func BenchmarkExchange(b *testing.B) {
	const keys = 1000
	x := newExchange(b, keys)
	_, before := x.scripts()
	b.ReportAllocs()
	var used time.Duration
	for b.Loop() {
		b.StopTimer()
		x.spend()
		from := processor()
		b.StartTimer()
		x.tick()
		used += processor() - from
	}
	b.StopTimer()
	_, after := x.scripts()
	n := float64(b.N)
	b.ReportMetric((after-before)/n/keys, "server-us/key")
	b.ReportMetric(float64(used.Nanoseconds())/n/keys, "cpu-ns/key")
	b.ReportMetric(float64(used)/n/float64(100*time.Millisecond)*100, "%-of-a-core")
}

// processor returns the processor time that this process has used.
func processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
