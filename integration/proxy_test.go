package integration

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleetredis"
	"github.com/weir-go/weir/internal/redistest"
)

var secret = []byte("the same on every instance")

func full() bool { return os.Getenv("WEIR_FLEET") == "full" }

// proxy stands before a server.
type proxy struct {
	t    *testing.T
	p    *toxiproxy.Proxy
	addr string
}

func before(t *testing.T, srv *redistest.Server) *proxy {
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	addr := fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t))
	p := toxiproxy.NewProxy(api, "redis", addr, srv.Addr)
	require.NoError(t, p.Start())
	t.Cleanup(p.Stop)
	return &proxy{t, p, addr}
}

// set makes the network behave as named, one way or both, until heal.
func (p *proxy) set(kind, streams, attributes string) {
	for _, s := range strings.Fields(streams) {
		_, err := p.p.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
			`{"name":"%s-%s","type":"%s","stream":"%s","attributes":{%s}}`, kind, s, kind, s, attributes)))
		require.NoError(p.t, err)
	}
}

func (p *proxy) heal() { p.p.Toxics.ResetToxics(context.Background()) }

func limit(rate int64, per time.Duration, burst int64) []engine.Limit {
	return []engine.Limit{{Name: "api", Rate: rate, Per: per, Burst: burst, Sync: engine.Sync{Mode: engine.SyncShare}}}
}

func instance(t *testing.T, tr fleet.Transport, limits []engine.Limit) *engine.Engine {
	f, err := fleet.New(fleet.Config{Transport: tr})
	require.NoError(t, err)
	e, err := engine.New(engine.Config{Limits: limits, Secret: secret, Sync: f, MaxEntries: 1000})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

func transport(t *testing.T, addr string) fleet.Transport {
	tr, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{addr}}, fleetredis.Options{})
	require.NoError(t, err)
	return tr
}

func heard(t *testing.T, engines []*engine.Engine) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, e := range engines {
			if e.Snapshot().Fleet.Instances != len(engines) {
				return false
			}
		}
		return true
	}, 10*time.Second, 10*time.Millisecond)
}

// drive sends requests of one user at a steady rate and returns how many were
// admitted in each second, and how long the decisions took.
func drive(engines []*engine.Engine, rate float64, lasts time.Duration, each func(time.Duration)) (perSecond []int64, took *redistest.Took) {
	took = new(redistest.Took)
	perSecond = make([]int64, int(lasts/time.Second)+1)
	id, _ := engines[0].Limit("api")
	redistest.Pace(rate, lasts, each, func(at time.Duration) {
		ok, t := redistest.Ask(engines[rand.IntN(len(engines))], id, "user")
		if took.Add(t); ok {
			perSecond[int(at/time.Second)]++
		}
	})
	return perSecond, took
}

// room is what a busy machine may put a figure off by.
func room() float64 {
	if full() {
		return 0
	}
	return 0.1
}

func sum(x []int64) (s int64) {
	for _, v := range x {
		s += v
	}
	return s
}

// What the server has charged is what was admitted, to the token, although
// replies are lost, come late or come twice.
func TestEveryTokenIsChargedOnce(t *testing.T) {
	times := 6
	if full() {
		times = 20
	}
	// Each phase lasts 1.6 s, the fault 700 ms of it: shorter than what counts as
	// an outage, longer than a call is waited for.
	for name, fault := range map[string]func(p *proxy, srv *redistest.Server){
		"replies vanish":         func(p *proxy, _ *redistest.Server) { p.set("timeout", "downstream", `"timeout":0`) },
		"replies come late":      func(p *proxy, _ *redistest.Server) { p.set("latency", "downstream", `"latency":400`) },
		"connections are reset":  func(p *proxy, _ *redistest.Server) { p.set("reset_peer", "downstream", `"timeout":0`) },
		"the server hangs":       func(_ *proxy, srv *redistest.Server) { go func() { _, _ = srv.Do("DEBUG", "SLEEP", "0.35") }() },
		"the client sends again": func(p *proxy, _ *redistest.Server) { p.set("timeout", "downstream", `"timeout":100`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Start(t, "--enable-debug-command", "yes")
			p := before(t, srv)
			const per = 1000 * time.Second // nothing refills
			engines := make([]*engine.Engine, 2)
			for i := range engines {
				tr := transport(t, p.addr)
				if name == "the client sends again" {
					client := redis.NewClient(&redis.Options{Addr: p.addr, MaxRetries: 3, ReadTimeout: 150 * time.Millisecond})
					t.Cleanup(func() { _ = client.Close() })
					over, err := fleetredis.Over(client, fleetredis.Options{})
					require.NoError(t, err)
					tr = over
				}
				engines[i] = instance(t, tr, limit(1, per, 1_000_000))
			}
			heard(t, engines)
			n := 0
			admitted, _ := drive(engines, 500, time.Duration(times)*1600*time.Millisecond, func(at time.Duration) {
				phase := int(at / (800 * time.Millisecond))
				if phase == n {
					return
				}
				if n = phase; n%2 == 1 {
					fault(p, srv)
				} else {
					p.heal()
				}
			})
			p.heal()
			require.Eventually(t, func() bool {
				for _, e := range engines {
					if f := e.Snapshot().Fleet; f.Pending > 0 || f.SyncAge > 0 {
						return false
					}
				}
				return true
			}, 10*time.Second, 20*time.Millisecond)
			var duplicates uint64
			for _, e := range engines {
				f := e.Snapshot().Fleet
				duplicates += f.Duplicates
				require.Zero(t, f.DownTime, "an outage is another matter")
			}
			charged := charged(t, srv, per)
			t.Logf("admitted %d, charged %.3f, duplicates %d", sum(admitted), charged, duplicates)
			require.Equal(t, float64(sum(admitted)), math.Round(charged))
			if name == "replies vanish" {
				require.Positive(t, duplicates)
			}
		})
	}
}

// charged is what the only bucket in the server owes, in tokens.
func charged(t *testing.T, srv *redistest.Server, per time.Duration) float64 {
	client := redis.NewClient(&redis.Options{Addr: srv.Addr})
	defer client.Close()
	ctx := context.Background()
	names, err := client.Keys(ctx, "*:r:*").Result()
	require.NoError(t, err)
	require.Len(t, names, 1)
	raw, err := client.Get(ctx, names[0]).Bytes()
	require.NoError(t, err)
	now, err := client.Time(ctx).Result()
	require.NoError(t, err)
	arrival := math.Float64frombits(binary.LittleEndian.Uint64(raw))
	return (arrival - float64(now.UnixMicro()-1_700_000_000_000_000)) / float64(per.Microseconds())
}

// The network fails in every way it can, and the fleet's limit stands.
func TestNetworkFails(t *testing.T) {
	const rate, burst, n = 1000, 200, 6
	lasts := 3 * time.Second
	if full() {
		lasts = 10 * time.Second
	}
	for name, c := range map[string]struct {
		set       func(p *proxy)
		low, high float64 // while it lasts
	}{
		"cut":            {func(p *proxy) { p.set("timeout", "upstream downstream", `"timeout":0`) }, 0.9, 1.6},
		"replies vanish": {func(p *proxy) { p.set("timeout", "downstream", `"timeout":0`) }, 0.9, 1.6},
		"trickle":        {func(p *proxy) { p.set("bandwidth", "upstream downstream", `"rate":1`) }, 0.9, 1.3}, // late news are paid back
		"150 ms":         {func(p *proxy) { p.set("latency", "downstream", `"latency":150`) }, 0.9, 1.1},
		"reset":          {func(p *proxy) { p.set("reset_peer", "upstream", `"timeout":0`) }, 0.9, 1.6},
		"gone":           {func(p *proxy) { p.p.Stop() }, 0.9, 1.6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := redistest.Start(t)
			p := before(t, srv)
			engines := make([]*engine.Engine, n)
			for i := range engines {
				engines[i] = instance(t, transport(t, p.addr), limit(rate, time.Second, burst))
			}
			heard(t, engines)
			set, healed := false, false
			got, took := drive(engines, 3*rate, lasts+7*time.Second, func(at time.Duration) {
				if !set && at >= 2*time.Second {
					set = true
					c.set(p)
				}
				if !healed && at >= 2*time.Second+lasts {
					healed = true
					p.heal()
					if name == "gone" {
						require.NoError(t, p.p.Start())
					}
				}
			})
			t.Logf("%v, decisions %v", got, took)
			during := got[2 : 2+int(lasts/time.Second)]
			require.InDelta(t, 1, float64(got[1])/rate, 0.25)
			mean := float64(sum(during)) / float64(len(during)) / rate
			require.GreaterOrEqual(t, mean, c.low-room())
			require.LessOrEqual(t, mean, c.high+room())
			after := got[4+int(lasts/time.Second) : 7+int(lasts/time.Second)]
			require.InDelta(t, 1, float64(sum(after))/float64(len(after))/rate, 0.06+room())
		})
	}
}
