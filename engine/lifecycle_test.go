package engine_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// A thousand reloads under load, each with other numbers, give a drained key at
// most what its rate gives, lose no request and leave nothing in flight.
func TestAThousandReloadsUnderLoad(t *testing.T) {
	cfg := limits(tokens("drained", 1, time.Hour, 5), tokens("api", 1000, time.Second, 1000), inFlight("jobs", 4))
	cfg.Gate = engine.Gate{Capacity: 10, Reserve: 0.2}
	f := start(t, cfg)
	require.Equal(t, 5, f.admitted("drained", "u", 6))
	before := f.Snapshot().Table.Bytes
	drained, api, jobs := f.claim("drained", "u", 1), f.claim("api", "u", 1), f.claim("jobs", "u", 1)
	var stop atomic.Bool
	var total atomic.Uint64
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := 0; !stop.Load(); n++ {
				if i == 0 {
					tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{drained}})
					if tk.OK() {
						t.Error("a reload refilled a drained key")
					}
					total.Add(1)
					continue
				}
				tk := f.Admit(engine.Request{Class: engine.Critical, Claims: []engine.Claim{api, jobs}})
				total.Add(1)
				tk.Done(engine.Success)
			}
		})
	}
	rnd := rand.New(rand.NewPCG(1, 1))
	for i := range 1000 {
		next := f.config(cfg)
		next.Limits = append([]engine.Limit{}, cfg.Limits...)
		if i%2 == 0 {
			next.Limits[1].Rate = 1 + rnd.Int64N(2000)
			next.Limits[1].Burst = 1 + rnd.Int64N(2000)
			next.Limits[2].Max = 1 + rnd.Int64N(8)
		}
		if i%3 == 0 {
			next.Limits = next.Limits[:2] // jobs goes and comes
		}
		next.Gate.Capacity = 1 + rnd.IntN(20)
		err := f.Swap(next)
		f.clock.Advance(time.Second) // table ids come free with time
		if err != nil {
			stop.Store(true)
			wg.Wait()
			require.NoError(t, err)
		}
	}
	stop.Store(true)
	wg.Wait()
	require.NoError(t, f.Swap(f.config(cfg)))
	s := f.Snapshot()
	require.Zero(t, s.Gate.Critical+s.Gate.Other)
	for _, l := range s.Limits {
		require.Zero(t, l.InFlight, l.Name)
	}
	require.Zero(t, s.Faults)
	require.Equal(t, before, s.Table.Bytes)
	var counted uint64
	for c := range s.Admitted {
		counted += s.Admitted[c] + s.Gate.Refused[c] + s.Ladder.Refused[c]
		for _, l := range s.Limits {
			for _, n := range l.Refused[c] {
				counted += n
			}
		}
	}
	require.Equal(t, total.Load()+6, counted)
}

// Close at any moment and twice, from several goroutines, under load: requests
// go on being answered by the fail policies, what was admitted before is given
// back, and no goroutine stays.
func TestCloseAtAnyMomentAndTwice(t *testing.T) {
	for range 50 {
		open, closed := tokens("open", 1, time.Hour, 1), tokens("closed", 1, time.Hour, 1)
		closed.Fail = engine.FailClosed
		cfg := limits(open, closed, inFlight("jobs", 100))
		cfg.MaxEntries = 100
		e := engine.Must(engine.New(cfg))
		id := func(name string) engine.LimitID { id, _ := e.Limit(name); return id }
		k := e.Key("u")
		var held []*engine.Ticket
		for range 10 {
			tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id("jobs").Claim(k)}})
			held = append(held, &tk)
		}
		run(4, func(i int, _ *rand.Rand) {
			for n := range 200 {
				if n == 20*i {
					if err := e.Close(); err != nil {
						t.Error(err)
					}
				}
				tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id("jobs").Claim(k), id("open").Claim(k)}})
				tk.Done(engine.Success)
			}
		})
		require.NoError(t, e.Close())
		a := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id("open").Claim(k)}})
		require.True(t, a.OK(), "open fails open, spent or not")
		b := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id("closed").Claim(e.Key("other"))}})
		require.Equal(t, engine.Closed, b.Decision().Reason)
		for _, tk := range held {
			tk.Done(engine.Success)
		}
		require.Zero(t, e.Snapshot().Limits[2].InFlight)
		require.Error(t, e.Swap(limits(open)))
	}
}
