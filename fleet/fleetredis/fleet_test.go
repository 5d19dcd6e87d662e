package fleetredis_test

import (
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleetredis"
	"github.com/weir-go/weir/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var secret = []byte("the same on every instance")

func full() bool { return os.Getenv("WEIR_FLEET") == "full" }

// instance makes an engine of a fleet whose store is at the addresses.
func instance(t testing.TB, log *slog.Logger, limits []engine.Limit, addrs ...string) (*engine.Engine, *fleet.Fleet) {
	tr, err := fleetredis.New(redis.UniversalOptions{Addrs: addrs}, fleetredis.Options{})
	require.NoError(t, err)
	f, err := fleet.New(fleet.Config{Transport: tr})
	require.NoError(t, err)
	e, err := engine.New(engine.Config{Limits: limits, Secret: secret, Sync: f, Logger: log, MaxEntries: 1000})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e, f
}

func fleetOf(t testing.TB, n int, limits []engine.Limit, addrs ...string) []*engine.Engine {
	engines := make([]*engine.Engine, n)
	for i := range engines {
		engines[i], _ = instance(t, nil, limits, addrs...)
	}
	return engines
}

func bucket(rate, burst int64) engine.Limit {
	return engine.Limit{Name: "api", Rate: rate, Per: time.Second, Burst: burst, Sync: engine.Sync{Mode: engine.SyncShare}}
}

// demand sends requests of one user to a fleet at a steady rate.
type demand struct {
	perSecond []int64 // admitted
	offered   int64
	byEngine  []int64
	times     []time.Duration
	took      [3]redistest.Took // by phase
	phase     func(at time.Duration) int
	where     func(at time.Duration) int // engine; nil: any
}

func drive(engines []*engine.Engine, name string, rate float64, lasts time.Duration, each func(time.Duration)) *demand {
	d := &demand{phase: func(time.Duration) int { return 0 }}
	d.drive(engines, name, rate, lasts, each)
	return d
}

func (d *demand) drive(engines []*engine.Engine, name string, rate float64, lasts time.Duration, each func(time.Duration)) {
	d.perSecond, d.byEngine = make([]int64, int(lasts/time.Second)+1), make([]int64, len(engines))
	ids := make([]engine.LimitID, len(engines))
	for i, e := range engines {
		ids[i], _ = e.Limit(name)
	}
	redistest.Pace(rate, lasts, each, func(at time.Duration) {
		i := rand.IntN(len(engines))
		if d.where != nil {
			i = d.where(at)
		}
		ok, took := redistest.Ask(engines[i], ids[i], "user")
		d.took[d.phase(at)].Add(took)
		d.offered++
		if ok {
			d.perSecond[int(at/time.Second)]++
			d.byEngine[i]++
			d.times = append(d.times, at)
		}
	})
}

// excess is the most that was admitted above burst + rate*W in any window W.
func (d *demand) excess(rate, burst float64) float64 {
	worst, low := math.Inf(-1), math.Inf(1)
	for i, at := range d.times {
		v := float64(i) - rate*at.Seconds()
		low = min(low, v)
		worst = max(worst, v+1-low)
	}
	return worst - burst
}

// Ten engines over a real server admit what one would.
func TestTenEnginesOverOneServer(t *testing.T) {
	seconds := 4
	if full() {
		seconds = 20
	}
	srv := redistest.Start(t)
	engines := fleetOf(t, 10, []engine.Limit{bucket(2000, 400)}, srv.Addr)
	heard(t, engines, 10)
	d := drive(engines, "api", 6000, time.Duration(seconds)*time.Second, nil)
	t.Logf("per second %v, excess %.0f", d.perSecond, d.excess(2000, 400))
	var parts []float64
	for _, n := range d.perSecond[1:seconds] {
		parts = append(parts, float64(n)/2000)
	}
	within(t, 0.92, 1.08, parts)
	within(t, 0.985, 1.02, []float64{average(parts)})
	most, least := 800.0, 0.95 // on a machine that has something else to do
	if full() {
		most, least = 600, 0.98
	}
	require.LessOrEqual(t, d.excess(2000, 400), most)
	var s, q float64 // Jain's index: everybody was offered the same
	for _, n := range d.byEngine {
		s, q = s+float64(n), q+float64(n)*float64(n)
	}
	require.GreaterOrEqual(t, s*s/(q*float64(len(d.byEngine))), least)
}

// heard waits until every engine has heard of n instances.
func heard(t testing.TB, engines []*engine.Engine, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, e := range engines {
			if e.Snapshot().Fleet.Instances != n {
				return false
			}
		}
		return true
	}, 10*time.Second, 10*time.Millisecond)
}

// records collects what is logged.
type records struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *records) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// Whatever is wrong with the store, the engine serves, and the log says what it
// is.
func TestWhateverIsWrongWithTheStoreIsSaidAndServed(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		setup func(s *redistest.Server)
		addr  func(s *redistest.Server) string
		says  string
	}{
		"no server":     {says: "cannot be reached", addr: func(*redistest.Server) string { return fmt.Sprintf("127.0.0.1:%d", redistest.FreePort(t)) }},
		"a password":    {says: "wants a password", setup: func(s *redistest.Server) { _, _ = s.Do("CONFIG", "SET", "requirepass", "x") }},
		"no scripts":    {says: "lacks a right", setup: func(s *redistest.Server) { _, _ = s.Do("ACL", "SETUSER", "default", "-@scripting") }},
		"out of memory": {says: "out of memory", setup: func(s *redistest.Server) { _, _ = s.Do("CONFIG", "SET", "maxmemory", "1") }},
		"no eviction":   {says: "maxmemory-policy is noeviction", args: []string{"--maxmemory", "100mb"}},
		"another layout": {says: "nothing is shared between the two", setup: func(s *redistest.Server) {
			_, _ = s.Do("HSET", "weir:{layouts}", "weir2v16", fmt.Sprint(time.Now().Unix()))
		}},
		"an orphaned replica": {says: "has lost its primary", args: []string{"--replica-serve-stale-data", "no"},
			setup: func(s *redistest.Server) { _, _ = s.Do("REPLICAOF", "127.0.0.1", "1") }},
		"a replica":        {says: "is a replica", setup: func(s *redistest.Server) { _, _ = s.Do("REPLICAOF", "127.0.0.1", "1") }},
		"one of a cluster": {says: "cluster", args: []string{"--cluster-enabled", "yes"}},
	} {
		t.Run(name, func(t *testing.T) {
			srv := redistest.Start(t, c.args...)
			if c.setup != nil {
				c.setup(srv)
			}
			addr := srv.Addr
			if c.addr != nil {
				addr = c.addr(srv)
			}
			var log records
			e, _ := instance(t, slog.New(slog.NewTextHandler(&log, nil)), []engine.Limit{bucket(100, 10)}, addr)
			id, _ := e.Limit("api")
			tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(e.Key("user"))}})
			require.True(t, tk.OK())
			tk.Done(engine.Success)
			require.Eventually(t, func() bool { return strings.Contains(log.String(), c.says) }, 5*time.Second, 10*time.Millisecond, "%s", &log)
		})
	}
}

// An instance with another number of shards shares nothing, and both are told.
func TestInstancesWithAnotherLayoutAreToldOfEachOther(t *testing.T) {
	srv := redistest.Start(t)
	var log records
	engines := fleetOf(t, 1, []engine.Limit{bucket(100, 10)}, srv.Addr)
	heard(t, engines, 1)
	tr, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{srv.Addr}}, fleetredis.Options{Shards: 4})
	require.NoError(t, err)
	f, err := fleet.New(fleet.Config{Transport: tr})
	require.NoError(t, err)
	e, err := engine.New(engine.Config{Limits: []engine.Limit{bucket(100, 10)}, Secret: secret, Sync: f, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	defer e.Close()
	require.Eventually(t, func() bool {
		return strings.Contains(log.String(), "another number of shards") && strings.Contains(log.String(), "weir1v16")
	}, 5*time.Second, 10*time.Millisecond, "%s", &log)
}
