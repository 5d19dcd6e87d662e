package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"text/tabwriter"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/gate"
)

const (
	plantCapacity = 50  // requests served at a time without queueing
	plantClients  = 200 // in flight if nobody were refused
	// A refused client asks again after askAgain; one that was served asks at
	// once, so a place is never empty while somebody wants it.
	askAgain = 100 * time.Millisecond
	settled  = 10 // seconds at the end of a stretch over which its limit is averaged, as limits saw
)

// adaptive is a limit on what is in flight that follows the latency.
type adaptive struct {
	enter func() (leave func(), ok bool)
	limit func() int
}

// adaptives are the contestants, each as its authors ship it: no option is set.
var adaptives = []struct {
	name string
	make func() (adaptive, error)
}{
	{"weir", func() (adaptive, error) {
		a, err := gate.NewAdaptive(gate.AdaptiveConfig{})
		if err != nil {
			return adaptive{}, err
		}
		epoch, g := time.Now(), new(gate.Gate)
		enter := func() (func(), bool) {
			g.Resize(a.Limit(), 0)
			if !g.Enter(false) {
				return nil, false
			}
			start := time.Since(epoch)
			return func() {
				now := time.Since(epoch)
				a.Observe(now, now-start, gate.Success, g.Others())
				g.Leave(false)
			}, true
		}
		return adaptive{enter, a.Limit}, nil
	}},
	{"failsafe-go", func() (adaptive, error) {
		a := adaptivelimiter.NewWithDefaults[any]()
		enter := func() (func(), bool) {
			permit, ok := a.TryAcquirePermit()
			if !ok {
				return nil, false
			}
			return permit.Record, true
		}
		return adaptive{enter, a.Limit}, nil
	}},
}

// The moments at which a limit is read.
const (
	warm = iota
	minuteIn
	incidentEnd
	healed
	moments
)

// stretch is a time in which the plant does not change.
type stretch struct {
	latency time.Duration // of a request that does not queue
	lasts   time.Duration // longer than settled
	moment  int           // its end
}

var adaptivePlants = []struct {
	name      string
	stretches []stretch
	keeps     func(t *testing.T, limit [moments]float64) // what weir promises
}{
	{"steady", []stretch{
		{10 * time.Millisecond, 2 * time.Minute, warm},
	}, func(t *testing.T, limit [moments]float64) {
		require.GreaterOrEqual(t, limit[warm], 0.5*plantCapacity)
		require.LessOrEqual(t, limit[warm], 2.5*plantCapacity)
	}},
	{"ten times slower for 5 min", []stretch{
		{10 * time.Millisecond, time.Minute, warm},
		{100 * time.Millisecond, time.Minute, minuteIn},
		{100 * time.Millisecond, 4 * time.Minute, incidentEnd},
		{10 * time.Millisecond, time.Minute, healed},
	}, func(t *testing.T, limit [moments]float64) {
		// The limit swings by a step, in no fixed phase to the moments it is read at:
		// the means of one level are some tenths apart.
		require.LessOrEqual(t, limit[incidentEnd], limit[minuteIn]+1, "it drifts up in an incident")
		require.GreaterOrEqual(t, limit[healed], 0.8*limit[warm])
	}},
	{"1 ms, then 20 ms for good", []stretch{
		{time.Millisecond, 20 * time.Second, warm},
		{20 * time.Millisecond, time.Minute, minuteIn},
		{20 * time.Millisecond, time.Minute, incidentEnd},
	}, func(t *testing.T, limit [moments]float64) {
		require.GreaterOrEqual(t, limit[incidentEnd], 0.8*plantCapacity, "pinned by a baseline that was measured too low")
	}},
}

// outcome is what a limit did with a plant.
type outcome struct {
	limit [moments]float64 // negative: the plant has no such moment
	// served is the share of the offered work that was done. All clients together
	// offer plantClients seconds of work in a second and the plant does at most
	// plantCapacity of them, however many it lets in.
	served float64
}

// operate runs a plant under a limit, in a bubble.
func operate(a adaptive, stretches []stretch) outcome {
	var (
		latency, inFlight, done atomic.Int64
		over                    atomic.Bool
		clients                 sync.WaitGroup
	)
	latency.Store(int64(stretches[0].latency))
	serve := func() {
		work := latency.Load()
		time.Sleep(time.Duration(work * max(plantCapacity, inFlight.Add(1)) / plantCapacity))
		inFlight.Add(-1)
		done.Add(work)
	}
	for i := range plantClients {
		clients.Go(func() {
			time.Sleep(askAgain * time.Duration(i) / plantClients) // not in step with the others
			for !over.Load() {
				leave, ok := a.enter()
				if !ok {
					time.Sleep(askAgain)
					continue
				}
				serve()
				leave()
			}
		})
	}

	var o outcome
	for m := range o.limit {
		o.limit[m] = -1
	}
	start := time.Now()
	for _, s := range stretches {
		latency.Store(int64(s.latency))
		time.Sleep(s.lasts - settled*time.Second)
		sum := 0
		for range settled {
			time.Sleep(time.Second)
			sum += a.limit()
		}
		o.limit[s.moment] = float64(sum) / settled
	}
	o.served = float64(done.Load()) / (plantClients * float64(time.Since(start)))
	over.Store(true)
	clients.Wait()
	return o
}

func TestAdaptiveLimitsOnTheSamePlants(t *testing.T) {
	outcomes := make([][]outcome, len(adaptivePlants))
	t.Run("plants", func(t *testing.T) {
		for p, plant := range adaptivePlants {
			outcomes[p] = make([]outcome, len(adaptives))
			for c, contestant := range adaptives {
				t.Run(plant.name+"/"+contestant.name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						a, err := contestant.make()
						require.NoError(t, err)
						o := operate(a, plant.stretches)
						outcomes[p][c] = o
						require.Positive(t, o.served)
						if contestant.name == "weir" {
							plant.keeps(t, o.limit)
						}
					})
				})
			}
		}
	})
	t.Logf("capacity %d, offered %d in flight, so at most %d %% can be served\n%s",
		plantCapacity, plantClients, 100*plantCapacity/plantClients, adaptiveTable(outcomes))
}

func adaptiveTable(outcomes [][]outcome) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "plant\tlimiter\twarm\t1 min in\tincident's end\t60 s healed\tserved")
	for p, plant := range adaptivePlants {
		for c, contestant := range adaptives {
			o := outcomes[p][c]
			fmt.Fprintf(w, "%s\t%s", plant.name, contestant.name)
			for _, limit := range o.limit {
				if limit < 0 {
					fmt.Fprint(w, "\t-")
				} else {
					fmt.Fprintf(w, "\t%.1f", limit)
				}
			}
			fmt.Fprintf(w, "\t%.1f %%\n", 100*o.served)
		}
	}
	w.Flush()
	return b.String()
}
