package engine_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// soakFor is how long the soak runs: a moment, unless the variable WEIR_SOAK
// names a duration.
func soakFor(t *testing.T) time.Duration {
	d := 2 * time.Second
	if s := os.Getenv("WEIR_SOAK"); s != "" {
		var err error
		d, err = time.ParseDuration(s)
		require.NoError(t, err, "WEIR_SOAK")
	}
	return d
}

// stormKeys is how many one-shot keys a storm has: ten million in a soak.
func stormKeys() int {
	if os.Getenv("WEIR_SOAK") != "" {
		return 10_000_000
	}
	return 300_000
}

// heap is what is in use after a collection: the least of several, for whoever
// runs meanwhile makes garbage before it can be read.
func heap() uint64 {
	least := uint64(math.MaxUint64)
	for range 6 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		least = min(least, m.HeapAlloc)
	}
	return least
}

// Everything at once for as long as it is given: requests of old and new keys,
// held and settled tickets, reloads, modes, snapshots. Memory stays flat, and in
// the end every gauge is back at zero and every request was counted.
func TestSoak(t *testing.T) {
	length := soakFor(t)
	cfg := engine.Config{
		Limits: []engine.Limit{
			tokens("api", 500, time.Second, 100), inFlight("jobs", 3),
			{Name: "costs", Rate: 1000, Per: time.Second, Burst: 1000, PostPaid: true},
			{Name: "minutely", Kind: engine.Quota, Rate: 50, Window: engine.Minute},
			{Name: "window", Kind: engine.Sliding, Rate: 20, Per: time.Second},
			{Name: "watched", Rate: 1, Per: time.Second, Burst: 1, Mode: engine.Shadow},
		},
		Gate:       engine.Gate{Capacity: 40, Reserve: 0.25, HardCap: 60},
		MaxEntries: 5000,
	}
	e := engine.Must(engine.New(cfg))
	var ids []engine.LimitID
	for _, l := range cfg.Limits {
		id, _ := e.Limit(l.Name)
		ids = append(ids, id)
	}
	var total, fresh atomic.Uint64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(i), 3))
			var held []*engine.Ticket
			var claims []engine.Claim
			for !stop.Load() {
				name := fmt.Sprint("old", rnd.IntN(50))
				if rnd.IntN(4) == 0 {
					name = fmt.Sprint("new", fresh.Add(1))
				}
				k := e.Key("user", name)
				claims = claims[:0]
				for _, id := range ids {
					if rnd.IntN(3) == 0 {
						claims = append(claims, id.ClaimN(k, 1+rnd.Int64N(3)))
					}
				}
				tk := e.Admit(engine.Request{Class: engine.Class(rnd.IntN(5)), Claims: claims})
				total.Add(1)
				if tk.OK() {
					held = append(held, &tk)
				}
				for len(held) > 8 || len(held) > 0 && rnd.IntN(2) == 0 {
					last := held[len(held)-1]
					held = held[:len(held)-1]
					if rnd.IntN(2) == 0 {
						last.Settle(ids[2], rnd.Int64N(6))
					}
					last.Done(engine.Outcome(rnd.IntN(3)))
				}
			}
			for _, tk := range held {
				tk.Done(engine.Ignored)
			}
		})
	}
	wg.Go(func() {
		rnd := rand.New(rand.NewPCG(9, 9))
		for n := 0; !stop.Load(); n++ {
			next := cfg
			next.Limits = append([]engine.Limit{}, cfg.Limits...)
			next.Limits[0].Rate = 100 + rnd.Int64N(900)
			next.Limits[1].Max = 1 + rnd.Int64N(5)
			next.Gate.Capacity = 20 + rnd.IntN(40)
			if err := e.Swap(next); err != nil {
				t.Error(err)
			}
			mode := []engine.Mode{engine.Enforce, engine.Shadow, engine.Off, engine.Ramp(0.5, 0.5)}[rnd.IntN(4)]
			if err := e.SetMode([]string{"jobs", "rate", "fleet", "all"}[rnd.IntN(4)], mode); err != nil {
				t.Error(err)
			}
			e.Snapshot()
			runtime.Gosched()
		}
	})
	timer := time.NewTimer(length / 3)
	<-timer.C
	early, routines := heap(), runtime.NumGoroutine()
	timer.Reset(length * 2 / 3)
	<-timer.C
	late, after := heap(), runtime.NumGoroutine()
	stop.Store(true)
	wg.Wait()

	require.Less(t, late, early+2<<20, "memory grew from %d to %d bytes over %d new keys", early, late, fresh.Load())
	require.LessOrEqual(t, after, routines+1)
	s := e.Snapshot()
	require.Zero(t, s.Faults)
	require.Zero(t, s.Gate.Critical+s.Gate.Other, "the gate drifted")
	var counted uint64
	for _, l := range s.Limits {
		require.Zero(t, l.InFlight, "%s drifted", l.Name)
		for c := range l.Refused {
			for _, n := range l.Refused[c] {
				counted += n
			}
		}
	}
	for c := range s.Admitted {
		counted += s.Admitted[c] + s.Gate.Refused[c] + s.Ladder.Refused[c]
	}
	require.Equal(t, total.Load(), counted)
	require.NoError(t, e.Close())
	t.Logf("%d requests, %d new keys, heap %d -> %d bytes", total.Load(), fresh.Load(), early, late)
}
