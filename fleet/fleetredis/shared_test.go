package fleetredis_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/redistest"
)

// Two instances, 64 goroutines, a cap of 1000: never one more, and in the end
// all of it.
func TestDailyCapOverTwoInstances(t *testing.T) {
	srv := redistest.Start(t)
	caps := []engine.Limit{{Name: "cap", Kind: engine.Quota, Rate: 1000, Window: engine.Day, Sync: engine.Sync{Mode: engine.SyncShare}}}
	engines := fleetOf(t, 2, caps, srv.Addr)
	heard(t, engines, 2)
	id, _ := engines[0].Limit("cap")
	var spent atomic.Int64
	deadline := time.Now().Add(15 * time.Second)
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			e := engines[g%2]
			for spent.Load() < 1000 && time.Now().Before(deadline) {
				tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(e.Key("tenant"))}})
				if tk.OK() {
					spent.Add(1)
				} else {
					<-time.After(2 * time.Millisecond) // as a client does that was told to wait
				}
				tk.Done(engine.Success)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(1000), spent.Load())
	for _, e := range engines {
		tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(e.Key("tenant"))}})
		require.False(t, tk.OK())
		tk.Done(engine.Success)
	}
}

// What is in flight of one user over two instances keeps to its limit, and a
// place that is given back can be used by the other.
func TestConcurrencyOverTwoInstances(t *testing.T) {
	srv := redistest.Start(t)
	jobs := []engine.Limit{{Name: "jobs", Kind: engine.InFlight, Max: 10, Sync: engine.Sync{Mode: engine.SyncStrict}}}
	engines := fleetOf(t, 2, jobs, srv.Addr)
	heard(t, engines, 2)
	id, _ := engines[0].Limit("jobs")
	var open [2][]*engine.Ticket
	total := func() int { return len(open[0]) + len(open[1]) }
	more := func(i int) bool {
		e := engines[i]
		tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(e.Key("user"))}})
		if tk.OK() {
			open[i] = append(open[i], &tk)
		}
		return tk.OK()
	}
	require.Eventually(t, func() bool {
		more(0)
		more(1)
		require.LessOrEqual(t, total(), 10)
		return total() == 10
	}, 10*time.Second, 5*time.Millisecond)
	for _, tk := range open[0] {
		tk.Done(engine.Success)
	}
	open[0] = nil
	require.Eventually(t, func() bool {
		more(1)
		require.LessOrEqual(t, total(), 10)
		return len(open[1]) == 10
	}, 10*time.Second, 5*time.Millisecond)
	for _, tk := range open[1] {
		tk.Done(engine.Success)
	}
}

// A changed limit goes through Swap: what is owed stays owed, and the server's
// key ends soon after.
func TestSwapOfASharedLimit(t *testing.T) {
	srv := redistest.Start(t)
	was := engine.Limit{Name: "api", Rate: 100, Per: time.Minute, Burst: 100, Sync: engine.Sync{Mode: engine.SyncShare}}
	e, f := instance(t, nil, []engine.Limit{was}, srv.Addr)
	heard(t, []*engine.Engine{e}, 1)
	id, _ := e.Limit("api")
	ask := func() engine.Decision {
		tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(e.Key("user"))}})
		defer tk.Done(engine.Success)
		return tk.Decision()
	}
	require.True(t, ask().OK())
	is := was
	is.Rate, is.Burst = 10, 10
	cfg := engine.Config{Limits: []engine.Limit{is}, Secret: secret, Sync: f, MaxEntries: 1000}
	require.NoError(t, e.Swap(cfg))
	admitted := 0
	for range 20 {
		if ask().OK() {
			admitted++
		}
	}
	require.Equal(t, 9, admitted, "one of the ten was spent before")
	client := redis.NewClient(&redis.Options{Addr: srv.Addr})
	defer client.Close()
	require.Eventually(t, func() bool {
		names, _ := client.Keys(context.Background(), "*:r:api:*").Result()
		if len(names) != 1 {
			return false
		}
		ttl := client.PTTL(context.Background(), names[0]).Val()
		return ttl > 5*time.Second && ttl <= 70*time.Second
	}, 5*time.Second, 20*time.Millisecond)
}
