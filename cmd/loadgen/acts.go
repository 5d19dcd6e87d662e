package main

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/arrival"
	"github.com/weir-go/weir/cmd/loadgen/internal/shop"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/ladder"
)

// Most acts are over in seconds: a moment of a quiet day, then the
// incident. It lasts until queues have filled (patience, over the surplus of
// load) and then as long again and more.
func shortTimes(setting) times {
	return times{begin: 300 * time.Millisecond, end: 4600 * time.Millisecond, over: 4600 * time.Millisecond}
}

// rateAct is layer 1.
func rateAct() act {
	const flood = 540 // per second; with the others 80 workers' work for 40
	return act{
		name:  "rate",
		title: "the request limiter",
		tells: fmt.Sprintf("A runaway test-mode script sends %d charges a second; everyone waits in its queue.", flood),
		times: shortTimes,
		traffic: func(s setting) []*target.Request {
			t := shortTimes(s)
			return append(quietDay(s, t.over), crowd{
				group: "runaway script", class: engine.Test, ask: charge, accounts: []string{"runaway"}, test: true,
				from: t.begin, plan: arrival.Even(perSecond(flood), t.end-t.begin),
			}.requests(s)...)
		},
		halves: [2]half{{name: "without it"}, {
			name: "with it",
			arms: "every key 75 a second, burst 150",
			arm: func(c *engine.Config, _ setting) {
				c.Limits = append(c.Limits, engine.Limit{Name: limitRequests, Rate: 75, Per: time.Second, Burst: 150})
			},
		}},
		verdict: verdict{chargesWith: 0.99, caught: "runaway script", by: engine.Rate, status: 429, others: 0.99}.check,
	}
}

// concurrencyAct is layer 2: a pace that the rate limit allows, of requests
// that take ten times as long.
func concurrencyAct() act {
	const reports = 60 // per second, below the rate limit; of 1.3 s each, 77 workers' work
	return act{
		name:  "concurrency",
		title: "the concurrent-requests limiter",
		tells: fmt.Sprintf("One customer exports its books: %d slow reads a second, within its rate, tie up every worker.", reports),
		times: shortTimes,
		traffic: func(s setting) []*target.Request {
			t := shortTimes(s)
			return append(quietDay(s, t.over), crowd{
				group: "book export", class: engine.Read, ask: export, accounts: []string{"exporter"}, patience: 2200 * time.Millisecond,
				from: t.begin, plan: arrival.Poisson(perSecond(reports), s.seed+1, t.end-t.begin),
			}.requests(s)...)
		},
		halves: [2]half{{name: "without it"}, {
			name: "with it",
			arms: "every key 8 at once",
			arm: func(c *engine.Config, _ setting) {
				c.Limits = append(c.Limits, engine.Limit{Name: limitInFlight, Kind: engine.InFlight, Max: 8})
			},
		}},
		verdict: verdict{chargesWith: 0.99, caught: "book export", by: engine.Concurrency, status: 429, others: 0.99}.check,
	}
}

// fleetAct is layer 3.
func fleetAct() act {
	const factor = 8
	return act{
		name:    "fleet",
		title:   "the fleet reservation",
		tells:   fmt.Sprintf("The database slows down %d times: reads hold their workers for 0.8 s, all at once.", factor),
		times:   shortTimes,
		traffic: func(s setting) []*target.Request { return quietDay(s, shortTimes(s).over) },
		script: func(s setting) []change {
			return []change{{at: shortTimes(s).begin, do: func(s *shop.Shop) { s.Slow(factor) }}}
		},
		halves: [2]half{{name: "without it"}, {
			name: "with it",
			arms: fmt.Sprintf("20 %% of %d places kept for critical requests", workers),
			arm: func(c *engine.Config, _ setting) {
				c.Gate = engine.Gate{Capacity: workers, Reserve: 0.2}
			},
		}},
		verdict: verdict{chargesWith: 0.99, by: engine.Fleet, status: 503}.check,
	}
}

// workerAct is layer 4. Its times are the real ones, compressed.
func workerAct() act {
	const left = 5 // workers: 46 requests a second, of which charges need 28
	at := func(s setting) times {
		begin := s.scaled(16 * time.Second)
		end := begin + s.scaled(330*time.Second)
		return times{begin: begin, end: end, over: end + s.scaled(400*time.Second)}
	}
	return act{
		name:    "worker",
		title:   "the worker ladder",
		tells:   fmt.Sprintf("%d of %d workers die, one after the other, and later come back: less is left than test, read and write traffic need.", workers-left, workers),
		times:   at,
		traffic: func(s setting) []*target.Request { return quietDay(s, at(s).over) },
		script: func(s setting) []change {
			changes := []change{{at: at(s).end, do: func(s *shop.Shop) { s.Pool.Resize(workers) }}}
			for lost := 1; lost <= workers-left; lost++ { // slowly enough for the ladder to keep the queue short
				changes = append(changes, change{
					at: at(s).begin + s.scaled(75*time.Second)*time.Duration(lost)/(workers-left),
					do: func(s *shop.Shop) { s.Pool.Resize(workers - lost) },
				})
			}
			return changes
		},
		halves: [2]half{{name: "without it"}, {
			name: "with it",
			arms: "the damped ladder: test, then read, then write traffic; never critical",
			arm: func(c *engine.Config, s setting) {
				c.Ladder.Mode, c.Ladder.Law = engine.Enforce, ladder.Default().Faster(s.scale)
			},
		}},
		verdict: verdict{chargesWith: 0.97, by: engine.Worker, status: 503, reopens: true}.check,
	}
}
