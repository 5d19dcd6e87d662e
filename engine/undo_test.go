package engine_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// Requests that lose a race on their second limit leave nothing on their first:
// what each user's own limit has given is what was admitted.
func TestLostRacesLeaveNothingBehind(t *testing.T) {
	const each, burst = 300_000, 1 << 30
	f := start(t, engine.Config{
		Limits: []engine.Limit{tokens("own", 1, time.Second, burst), inFlight("jobs", 1<<20), tokens("total", 1, time.Second, burst)},
		Gate:   engine.Gate{Capacity: 1000},
	})
	own, _ := f.Limit("own")
	jobs, _ := f.Limit("jobs")
	total, _ := f.Limit("total")
	shared := f.Key("all")
	var wg sync.WaitGroup
	for g := range 4 {
		k := f.Key("user", strconv.Itoa(g))
		wg.Go(func() {
			for i := range each {
				second := jobs
				if i%2 == 0 {
					second = total
				}
				claims := []engine.Claim{own.Claim(k), second.Claim(shared)}
				if i%4 == 0 {
					claims = claims[1:]
				}
				tk := f.Admit(engine.Request{Class: engine.Read, Claims: claims})
				tk.Done(engine.Success)
			}
		})
	}
	wg.Wait()
	s := f.Snapshot()
	require.EqualValues(t, 4*each, s.Admitted[engine.Read])
	require.Zero(t, s.Gate.Other)
	require.Zero(t, f.inUse("jobs"))
	for g := range 4 {
		vs := f.Explain(engine.Request{Class: engine.Read, Claims: []engine.Claim{own.Claim(f.Key("user", strconv.Itoa(g)))}})
		require.EqualValues(t, burst-each*3/4-1, vs[0].Remaining)
	}
	require.EqualValues(t, burst-4*each/2, f.left("total", "all"))
}
