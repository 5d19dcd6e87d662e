package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/redistest"
)

// Faults of every kind, one after the other, for as long as WEIR_SOAK says (15 s
// without it): in the end the fleet has told all there was to tell, and neither
// memory nor goroutines have grown.
func TestSoak(t *testing.T) {
	lasts, err := time.ParseDuration(os.Getenv("WEIR_SOAK"))
	if err != nil {
		lasts = 15 * time.Second
	}
	srv := redistest.Start(t)
	p := before(t, srv)
	engines := make([]*engine.Engine, 4)
	for i := range engines {
		engines[i] = instance(t, transport(t, p.addr), limit(1000, time.Second, 200))
	}
	heard(t, engines)
	drive(engines, 3000, time.Second, nil)
	heap, goroutines := live(), runtime.NumGoroutine()
	faults := []func(){
		func() { p.set("timeout", "downstream", `"timeout":0`) },
		func() { p.set("timeout", "upstream downstream", `"timeout":0`) },
		func() { p.set("latency", "downstream", `"latency":300,"jitter":200`) },
		func() { p.set("reset_peer", "downstream", `"timeout":50`) },
		func() { p.set("bandwidth", "upstream", `"rate":5`) },
		func() { _, _ = srv.Do("FLUSHALL") },
		func() { _, _ = srv.Do("SCRIPT", "FLUSH") },
		func() { srv.Kill(); srv.Restart() },
		srv.Pause,
	}
	next, broken := time.Duration(0), false
	got, took := drive(engines, 3000, lasts, func(at time.Duration) {
		if at < next {
			return
		}
		next = at + time.Duration(200+rand.IntN(2000))*time.Millisecond
		if broken = !broken; broken {
			faults[rand.IntN(len(faults))]()
		} else {
			srv.Resume()
			p.heal()
		}
	})
	srv.Resume()
	p.heal()
	mean := float64(sum(got)) / lasts.Seconds() / 1000
	t.Logf("%.2f of the limit over %v, decisions %v", mean, lasts, took)
	require.LessOrEqual(t, mean, 2.0)
	require.GreaterOrEqual(t, mean, 0.7)
	// Each of the four connections that an engine may have costs the proxy six
	// goroutines.
	most := goroutines + len(engines)*4*6
	if !watch(20*time.Second, func() bool {
		for _, e := range engines {
			if f := e.Snapshot().Fleet; f.Pending > 0 || f.Down > 0 || f.SyncAge > time.Second {
				return false
			}
		}
		return runtime.NumGoroutine() <= most
	}) {
		require.Fail(t, "the fleet does not come to rest", "%d goroutines of %d at most\n%s", runtime.NumGoroutine(), most, states(engines))
	}
	require.Less(t, float64(live()), float64(heap)*1.2+4e6)
}

func states(engines []*engine.Engine) (text string) {
	for _, e := range engines {
		text += fmt.Sprintf("%+v\n", e.Snapshot().Fleet)
	}
	return text
}

// live is how many bytes are in use after a collection.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
