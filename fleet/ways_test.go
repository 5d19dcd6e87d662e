package fleet_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleettest"
	"github.com/weir-go/weir/ladder"
)

// standing is a fleet whose loop stands still.
type standing struct{ *fleet.Fleet }

func (s standing) Start(h engine.SyncHost) error {
	s.Manual(h, 1)
	return nil
}

func (s standing) Close() error { return nil }

// The engine charges a shared bucket's entries itself where nothing else is to be
// decided. It answers, charges and counts as the fleet does when it is asked.
func TestTheEngineChargesEntriesAsTheFleetDoes(t *testing.T) {
	reasons := map[engine.Reason]int{}
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		var engines [2]*engine.Engine
		var clocks [2]*engine.ManualClock
		var fleets [2]*fleet.Fleet
		load := 0.0
		for i := range engines {
			f, err := fleet.New(fleet.Config{Transport: fleettest.NewTransport(2), MaxKeys: 16, Expected: 1 + int(seed%4)})
			require.NoError(t, err)
			fleets[i] = f
			limits := []engine.Limit{tokenBucket(2, 12), {Name: "jobs", Kind: engine.InFlight, Max: 3}, {Name: "own", Rate: 1, Per: time.Second, Burst: 9}}
			if seed%2 == 0 { // the shared one comes last
				limits[0], limits[1] = limits[1], limits[0]
			}
			if seed%5 == 0 {
				limits[2].Sync = engine.Sync{Mode: engine.SyncShare}
			}
			clocks[i] = engine.NewManualClock(time.Date(2025, 6, 2, 12, 0, 0, 0, time.UTC))
			engines[i] = engine.Must(engine.New(engine.Config{
				Limits: limits, Gate: engine.Gate{Capacity: 4, Reserve: 0.25},
				Ladder: engine.Ladder{Signal: func() ladder.Reading {
					return ladder.Reading{Value: load, At: clocks[i].Wall(), OK: true}
				}}, Clock: clocks[i], MaxEntries: 256,
				Sync: standing{f}, Secret: []byte("the same on every instance"), PreciseClock: seed%7 == 0,
			}))
		}
		var open [][2]*engine.Ticket
		done := func(n int) {
			for _, tk := range open[n] {
				tk.Done(engine.Success)
			}
			open = append(open[:n], open[n+1:]...)
		}
		for n := range 600 {
			for len(open) > 5 || len(open) > 0 && rnd.IntN(3) == 0 {
				done(rnd.IntN(len(open)))
			}
			advance, drift := time.Duration(0), time.Duration(0)
			switch rnd.IntN(14) {
			case 3:
				target, m := []string{"api", "jobs", "all", "rate"}[rnd.IntN(4)], []engine.Mode{engine.Shadow, engine.Off, engine.Ramp(0.5, 0.5)}[rnd.IntN(3)]
				for _, e := range engines {
					require.NoError(t, e.SetMode(target, m))
				}
			case 4, 5:
				for _, e := range engines {
					for _, target := range []string{"api", "jobs", "all", "rate"} {
						require.NoError(t, e.SetMode(target, engine.Enforce))
					}
				}
			case 6: // some of a class are shed, or nobody any more
				load, advance = []float64{0, 1.5, 3}[rnd.IntN(3)], 700*time.Millisecond
			case 2:
				fleets[0].Tell()
				fleets[1].Tell()
			case 0:
				advance = time.Duration(rnd.IntN(900)) * time.Millisecond
			case 1:
				drift = time.Duration(rnd.IntN(900)) * time.Millisecond
			}
			names := []string{"api", "jobs", "own"}
			rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			names = names[:1+rnd.IntN(2)]
			who := fmt.Sprint("user", rnd.IntN(4))
			class := []engine.Class{engine.Read, engine.Read, engine.Read, engine.Critical}[rnd.IntN(4)]
			cost := []int64{1, 1, 1, 1, 2, 13}[rnd.IntN(6)]
			var tickets [2]*engine.Ticket
			for i, e := range engines {
				clocks[i].Advance(advance)
				clocks[i].Drift(drift)
				req := engine.Request{Class: class}
				for _, name := range names {
					l, ok := e.Limit(name)
					require.True(t, ok)
					req.Claims = append(req.Claims, l.ClaimN(e.Key(who), cost))
				}
				if i == 1 { // claims that cost nothing make it a request for the long way
					for len(req.Claims) < 3 {
						for _, name := range []string{"api", "jobs", "own"} {
							if l, _ := e.Limit(name); !slices.ContainsFunc(req.Claims, func(c engine.Claim) bool { return c.Limit == l }) {
								req.Claims = append(req.Claims, l.ClaimN(e.Key("nobody"), 0))
							}
						}
					}
				}
				tk := e.Admit(req)
				tickets[i] = &tk
			}
			require.Equal(t, tickets[1].Decision(), tickets[0].Decision(), "seed %d, request %d: %d of %v for %s", seed, n, cost, names, who)
			reasons[tickets[0].Decision().Reason]++
			open = append(open, tickets)
		}
		for len(open) > 0 {
			done(0)
		}
		a, b := engines[0].Snapshot(), engines[1].Snapshot()
		require.Equal(t, fleets[1].Spent(), fleets[0].Spent())
		require.Positive(t, fleets[0].Spent())
		require.Equal(t, fleets[1].Marked(), fleets[0].Marked())
		require.Equal(t, b.Fleet.Keys, a.Fleet.Keys)
		require.Equal(t, b.Admitted, a.Admitted)
		require.Equal(t, b.Limits, a.Limits)
		require.Equal(t, b.Gate, a.Gate)
		require.Zero(t, a.Gate.Other+a.Gate.Critical)
		require.Zero(t, a.Faults+b.Faults)
		for _, e := range engines {
			require.NoError(t, e.Close())
		}
	}
	for r := engine.Admitted; r < engine.Closed; r++ {
		require.Greater(t, reasons[r], 50, "too few are %v to compare", r)
	}
}

// Who loses a race for a shared bucket gives back the place it took before, in flight
// and in the gate, and is decided anew.
func TestALostRaceForAnEntryLeavesNothingTaken(t *testing.T) {
	f, err := fleet.New(fleet.Config{Transport: fleettest.NewTransport(1), MaxKeys: 16})
	require.NoError(t, err)
	api := tokenBucket(1_000_000_000, 1_000_000_000)
	e := engine.Must(engine.New(engine.Config{
		Limits: []engine.Limit{api, {Name: "jobs", Kind: engine.InFlight, Max: 1000}},
		Gate:   engine.Gate{Capacity: 10_000, Reserve: 0.2}, MaxEntries: 256,
		Sync: standing{f}, Secret: []byte("the same on every instance"),
	}))
	defer func() { require.NoError(t, e.Close()) }()
	bucket, _ := e.Limit("api")
	jobs, _ := e.Limit("jobs")
	const each = 400_000
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range each {
				k := e.Key("u")
				tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{bucket.Claim(k), jobs.Claim(k)}})
				if !tk.OK() {
					t.Errorf("refused: %+v", tk.Decision())
					return
				}
				tk.Done(engine.Success)
			}
		})
	}
	wg.Wait()
	s := e.Snapshot()
	require.Zero(t, s.Gate.Other)
	for _, l := range s.Limits {
		require.Zero(t, l.InFlight, l.Name)
	}
	require.EqualValues(t, 4*each, s.Admitted[engine.Read])
	require.EqualValues(t, 4*each, f.Spent())
}
