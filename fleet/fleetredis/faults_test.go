package fleetredis_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
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

// faulted drives n engines at three times their limit of r a second through a
// fault that begins after 3 s: it sets the fault in, waits, heals it and
// returns what was admitted, by second, as parts of r.
type faulted struct {
	before, during, after []float64
	d                     *demand
	engines               []*engine.Engine
}

const faultRate, faultBurst = 1000, 200

func fault(t *testing.T, engines []*engine.Engine, lasts, after time.Duration, set, heal func()) *faulted {
	t.Helper()
	heard(t, engines, len(engines))
	goroutines := runtime.NumGoroutine()
	const begins = 3 * time.Second
	var step, most atomic.Int64
	run := func(n int64, at, due time.Duration, do func()) {
		if at >= due && step.CompareAndSwap(n, n+1) && do != nil {
			go do()
		}
	}
	d := &demand{phase: func(at time.Duration) int {
		switch {
		case at < begins:
			return 0
		case at < begins+lasts:
			return 1
		}
		return 2
	}}
	d.drive(engines, "api", 3*faultRate, begins+lasts+after, func(at time.Duration) {
		run(0, at, begins, set)
		run(1, at, begins+lasts, heal)
		most.Store(max(most.Load(), int64(runtime.NumGoroutine())))
	})
	f := &faulted{d: d, engines: engines}
	for i, n := range d.perSecond[1 : len(d.perSecond)-1] {
		part := float64(n) / faultRate
		switch at := time.Duration(i+1) * time.Second; {
		case at < begins:
			f.before = append(f.before, part)
		case at < begins+lasts:
			f.during = append(f.during, part)
		default:
			f.after = append(f.after, part)
		}
	}
	t.Logf("before %.2f during %.2f after %.2f, goroutines %d, then %d", f.before, f.during, f.after, goroutines, most.Load())
	// Times are told and not judged: that no decision waits for the store is held
	// by TestNoDecisionWaitsForTheStore.
	for i, phase := range []string{"before", "during", "after"} {
		t.Logf("decisions %s: %v", phase, &d.took[i])
	}
	// Every shard has at most a few calls on its way, however long nobody answers.
	require.Less(t, most.Load(), int64(goroutines+len(engines)*8+64))
	within(t, 0.9, 1.1, f.before)
	return f
}

// within holds every second to its bounds in the full run. Elsewhere the machine
// may be busy, and a driver that is starved for a moment makes up for it in a
// burst, which a limit refuses: there it is the mean, with some room.
func within(t *testing.T, low, high float64, parts []float64) {
	t.Helper()
	if !full() {
		parts, low, high = []float64{average(parts)}, low-0.15, high+0.15
	}
	for _, x := range parts {
		require.GreaterOrEqual(t, x, low)
		require.LessOrEqual(t, x, high)
	}
}

func average(parts []float64) (m float64) {
	for _, x := range parts {
		m += x / float64(len(parts))
	}
	return m
}

// seconds is a length that an ordinary run takes short.
func seconds(short, long int) time.Duration {
	if full() {
		short = long
	}
	return time.Duration(short) * time.Second
}

func skipFaults(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no faults of real servers")
	}
	if os.Getenv("WEIR_FLEET") == "" && t.Name() != "TestServerIsKilled" {
		t.Skip("WEIR_FLEET=bounded, as in make test-fleet, runs it")
	}
}

func limits() []engine.Limit { return []engine.Limit{bucket(faultRate, faultBurst)} }

// The server dies and comes back empty: limits go on in parts, nothing is
// multiplied, nothing is owed afterwards.
func TestServerIsKilled(t *testing.T) {
	skipFaults(t)
	srv := redistest.Start(t)
	f := fault(t, fleetOf(t, 10, limits(), srv.Addr), seconds(3, 5), seconds(5, 8), srv.Kill, srv.Restart)
	within(t, 0.9, 2, f.during)
	within(t, 0, 1.5, []float64{average(f.during)})
	within(t, 0, 1.7, f.after[:1])
	within(t, 0.85, 1.3, f.after[1:2])
	within(t, 0.93, 1.07, f.after[3:])
}

// The server stops, and keeps its connections.
func TestServerHangs(t *testing.T) {
	skipFaults(t)
	srv := redistest.Start(t)
	f := fault(t, fleetOf(t, 10, limits(), srv.Addr), seconds(3, 10), seconds(5, 8), srv.Pause, srv.Resume)
	within(t, 0.9, 2, f.during)
	within(t, 0, 1.7, f.after[:1])
	within(t, 0.93, 1.07, f.after[3:])
}

// every runs do once a period until the returned function is called.
func every(period time.Duration, do func()) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(period)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				do()
			}
		}
	}()
	return func() { close(done); <-ended }
}

func TestServerForgetsEverythingAgainAndAgain(t *testing.T) {
	skipFaults(t)
	srv := redistest.Start(t)
	engines := fleetOf(t, 10, limits(), srv.Addr)
	heard(t, engines, 10)
	stop := every(2*time.Second, func() { _, _ = srv.Do("FLUSHALL") })
	lasts := seconds(7, 20)
	d := drive(engines, "api", 3*faultRate, lasts, nil)
	stop()
	t.Logf("%v", d.perSecond)
	var sum int64
	for _, n := range d.perSecond[1:] {
		sum += n
	}
	within(t, 0.9, 1.06, []float64{float64(sum) / faultRate / (lasts.Seconds() - 1)})
}

// The script cache is emptied all the time: no batch is lost.
func TestScriptsAreFlushed(t *testing.T) {
	skipFaults(t)
	srv := redistest.Start(t)
	engines := fleetOf(t, 4, limits(), srv.Addr)
	heard(t, engines, 4)
	stop := every(100*time.Millisecond, func() { _, _ = srv.Do("SCRIPT", "FLUSH") })
	lasts := seconds(3, 5)
	d := drive(engines, "api", 3*faultRate, lasts, nil)
	stop()
	var parts []float64
	for _, n := range d.perSecond[1 : len(d.perSecond)-1] {
		parts = append(parts, float64(n)/faultRate)
	}
	within(t, 0.92, 1.08, parts)
	for _, e := range engines {
		s := e.Snapshot().Fleet
		require.Zero(t, s.Errors)
		require.Zero(t, s.Resent)
		require.Positive(t, s.Acked)
	}
}

// A server that is full and does not evict is as good as away, until it has room
// again.
func TestServerIsOutOfMemory(t *testing.T) {
	skipFaults(t)
	srv := redistest.Start(t, "--maxmemory-policy", "noeviction")
	f := fault(t, fleetOf(t, 4, limits(), srv.Addr), seconds(3, 6), seconds(4, 6),
		func() { _, _ = srv.Do("CONFIG", "SET", "maxmemory", "1mb") },
		func() { _, _ = srv.Do("CONFIG", "SET", "maxmemory", "0") })
	within(t, 0.85, 1.6, f.during)
	require.LessOrEqual(t, average(f.during), 1.4)
	within(t, 0.93, 1.07, f.after[2:])
}

// A server that is full, and evicts what the fleet keeps in it whenever others
// write, costs nothing that the instances do not restore.
func TestServerEvicts(t *testing.T) {
	skipFaults(t)
	srv := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	client := redis.NewClient(&redis.Options{Addr: srv.Addr})
	defer client.Close()
	ctx := context.Background()
	number := func(section, name string) (n int64) {
		m, err := client.InfoMap(ctx, section).Result()
		require.NoError(t, err)
		for _, fields := range m {
			_, _ = fmt.Sscan(fields[name], &n)
		}
		return n
	}
	// Full of what others wrote some seconds ago. (A server so small that all of it
	// is of the same second evicts at random, the fleet's keys too, several times a
	// second each: with that 1.2 to 1.3 of the limit was measured.)
	fill := client.Pipeline()
	for i := range 3000 {
		fill.Set(ctx, fmt.Sprint("before", i), make([]byte, 2000), 0)
	}
	_, err := fill.Exec(ctx)
	require.NoError(t, err)
	stop := func() {}
	f := fault(t, fleetOf(t, 4, limits(), srv.Addr), seconds(3, 6), seconds(3, 6), func() {
		_ = client.ConfigSet(ctx, "maxmemory", fmt.Sprint(number("memory", "used_memory"))).Err()
		i := 0
		stop = every(2*time.Millisecond, func() { i++; _ = client.Set(ctx, fmt.Sprint("other", i), make([]byte, 2000), 0).Err() })
	}, func() { stop() })
	evicted := number("stats", "evicted_keys")
	t.Logf("%d keys evicted", evicted)
	require.Greater(t, evicted, int64(100))
	within(t, 0.94, 1.06, f.during)
	for _, e := range f.engines {
		require.Zero(t, e.Snapshot().Fleet.DownTime)
	}
}

// A primary dies half a second after its replica was cut off from it, and the
// replica, which lacks the last writes, takes over.
func TestReplicaTakesOver(t *testing.T) {
	skipFaults(t)
	primary, replica := redistest.Start(t), redistest.Start(t)
	_, err := replica.Do("REPLICAOF", "127.0.0.1", fmt.Sprint(primary.Port))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		info, _ := replica.Do("INFO", "replication")
		return strings.Contains(info, "master_link_status:up")
	}, 10*time.Second, 20*time.Millisecond)
	// The clients find the server by a name that moves, as with a load balancer.
	var at atomic.Value
	at.Store(primary.Addr)
	engines := make([]*engine.Engine, 4)
	for i := range engines {
		tr, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{"store"}, Dialer: dialer(&at)}, fleetredis.Options{})
		require.NoError(t, err)
		engines[i] = over(t, tr)
	}
	f := fault(t, engines, time.Second, seconds(4, 8), func() {
		_, _ = replica.Do("REPLICAOF", "127.0.0.1", "1")
		<-time.After(500 * time.Millisecond) // of writes that the replica does not get
		primary.Kill()
		_, _ = replica.Do("REPLICAOF", "NO", "ONE")
		at.Store(replica.Addr)
	}, nil)
	within(t, 0.85, 1.5, f.after)
	sum := average(f.during)*float64(len(f.during)) + average(f.after)*float64(len(f.after))
	require.LessOrEqual(t, sum-float64(len(f.during)+len(f.after)), 0.5+0.3*faultBurst/faultRate+0.3)
	within(t, 0.93, 1.07, f.after[2:])
}

// over makes an engine of the usual fleet over a transport.
func over(t *testing.T, tr fleet.Transport) *engine.Engine {
	f, err := fleet.New(fleet.Config{Transport: tr})
	require.NoError(t, err)
	e, err := engine.New(engine.Config{Limits: limits(), Secret: secret, Sync: f, MaxEntries: 1000})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// A server that is made a replica refuses writes; when it is a primary again
// the fleet is back within a second or two.
func TestServerIsDemoted(t *testing.T) {
	skipFaults(t)
	srv := redistest.Start(t)
	f := fault(t, fleetOf(t, 4, limits(), srv.Addr), seconds(3, 5), seconds(4, 5),
		func() { _, _ = srv.Do("REPLICAOF", "127.0.0.1", "1") },
		func() { _, _ = srv.Do("REPLICAOF", "NO", "ONE") })
	within(t, 0.85, 2, f.during)
	within(t, 0.93, 1.07, f.after[2:])
}

// Every key that a fleet leaves behind has an end, and is small.
func TestWhatIsLeftInTheServer(t *testing.T) {
	srv := redistest.Start(t)
	e, _ := instance(t, nil, limits(), srv.Addr)
	id, _ := e.Limit("api")
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: srv.Addr})
	defer client.Close()
	memory := func() int64 {
		m, err := client.InfoMap(ctx, "memory").Result()
		require.NoError(t, err)
		var n int64
		_, err = fmt.Sscan(m["Memory"]["used_memory"], &n)
		require.NoError(t, err)
		return n
	}
	const keys = 30_000
	require.Eventually(t, func() bool { return e.Snapshot().Fleet.Acked > 0 || e.Snapshot().Fleet.Instances > 0 }, 5*time.Second, time.Millisecond)
	empty := memory()
	for i := range keys {
		tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(e.Key("user", fmt.Sprint(i)))}})
		tk.Done(engine.Success)
	}
	require.Eventually(t, func() bool { return client.DBSize(ctx).Val() > keys }, 10*time.Second, 20*time.Millisecond)
	bytes := float64(memory()-empty) / keys
	t.Logf("%.0f bytes a key", bytes)
	require.LessOrEqual(t, bytes, 200.0)
	// One of every other kind.
	more := []engine.Limit{
		{Name: "strict", Rate: 100, Per: time.Second, Burst: 100, Sync: engine.Sync{Mode: engine.SyncStrict}},
		{Name: "minutely", Kind: engine.Quota, Rate: 100, Window: engine.Minute, Sync: engine.Sync{Mode: engine.SyncShare}},
		{Name: "jobs", Kind: engine.InFlight, Max: 10, Sync: engine.Sync{Mode: engine.SyncShare}},
	}
	others, _ := instance(t, nil, more, srv.Addr)
	require.Eventually(t, func() bool {
		for _, l := range more {
			id, _ := others.Limit(l.Name)
			tk := others.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(others.Key("user"))}})
			defer tk.Done(engine.Success)
		}
		kinds := ""
		for _, l := range more {
			names, _ := client.Keys(ctx, "*:"+l.Name+":*").Result()
			kinds += strings.Join(names, " ")
		}
		return strings.Contains(kinds, ":r:strict:") && strings.Contains(kinds, ":q:minutely:") && strings.Contains(kinds, ":c:jobs:")
	}, 10*time.Second, 50*time.Millisecond)
	names, err := client.Keys(ctx, "*").Result()
	require.NoError(t, err)
	pipe := client.Pipeline()
	ends := make([]*redis.DurationCmd, len(names))
	for i, name := range names {
		ends[i] = pipe.PTTL(ctx, name)
	}
	_, err = pipe.Exec(ctx)
	require.NoError(t, err)
	for i, name := range names {
		require.NotEqual(t, time.Duration(-1), ends[i].Val(), "%s has no end", name)
		require.LessOrEqual(t, ends[i].Val(), 2*time.Minute, name)
		require.NotContains(t, name, "user")
	}
	if full() {
		require.NoError(t, e.Close())
		require.NoError(t, others.Close())
		require.Eventually(t, func() bool { return client.DBSize(ctx).Val() == 0 }, 2*time.Minute, time.Second, "after two minutes of silence nothing is left")
	}
}
