package main

import (
	"fmt"

	"github.com/weir-go/weir/cmd/loadgen/internal/live"
	"github.com/weir-go/weir/engine"
)

// What the buttons do.
const (
	liveSlow = 8
	liveLeft = 5 // workers
)

// turn does what a control asks for, and tells everyone.
func (sh *show) turn(k live.Knob) error {
	sh.turning.Lock()
	defer sh.turning.Unlock()
	if _, ok := sh.knobs[k.Name]; !ok {
		return fmt.Errorf("no control %q", k.Name)
	}
	on := k.Value != 0
	if k.Name == "flood" {
		if !(k.Value >= 0 && k.Value <= 1000) {
			return fmt.Errorf("flood %v: must be from 0 to 1000", k.Value)
		}
	} else if k.Value != 0 && k.Value != 1 {
		return fmt.Errorf("%s %v: must be 0 or 1", k.Name, k.Value)
	}
	if err := sh.do(k.Name, k.Value, on); err != nil {
		return err
	}
	sh.knobs[k.Name], sh.news = k.Value, newsOf(k.Name, k.Value, on)
	sh.tell()
	return nil
}

func (sh *show) do(name string, value float64, on bool) error {
	choose := func(yes, no int) int {
		if on {
			return yes
		}
		return no
	}
	switch name {
	case "flood":
		sh.traffic.setFlood(value)
	case "export":
		sh.traffic.setExport(on)
	case "slow":
		sh.stage.shop.Slow(float64(choose(liveSlow, 1)))
	case "loss":
		sh.stage.shop.Pool.Resize(choose(liveLeft, workers))
	case "outage":
		if on {
			sh.sibling.link.Cut()
		} else {
			sh.sibling.link.Mend()
		}
	case "flap":
		return sh.stage.engine.Swap(sh.config(sh.stage.shop, on))
	default:
		m := engine.Off
		if on {
			m = engine.Enforce
		}
		return sh.stage.engine.SetMode(name, m)
	}
	return nil
}

// tell publishes how the controls stand; sh.turning is held.
func (sh *show) tell() {
	sh.hub.State(liveState{Knobs: sh.knobs, News: sh.news, Fleet: sh.sibling != nil})
}

func newsOf(name string, value float64, on bool) string {
	texts := map[string][2]string{
		"rate":        {"the request limiter is off", "the request limiter is armed: a key that asks too often gets 429"},
		"concurrency": {"the concurrent-requests limiter is off", "the concurrent-requests limiter is armed: a key that has too many running gets 429"},
		"fleet":       {"the fleet reservation is off", "the fleet reservation is armed: what is left for others gets 503, charges go through"},
		"worker":      {"the worker ladder is off", "the worker ladder is armed: it sheds from the bottom, slowly"},
		"export":      {"the export is over", "one customer exports its books: slow reads, many at once"},
		"slow":        {"the database is well again", "the database slows down"},
		"loss":        {"all workers are back", fmt.Sprintf("%d of %d workers are left", liveLeft, workers)},
		"outage":      {"the Redis is back", "the Redis is gone: each instance goes on with its own part"},
		"flap":        {"the dampers are in again", "FLAP MODE: I got rid of test-mode traffic! Everything is fine! I brought it back! Everything is awful!"},
	}
	if t, ok := texts[name]; ok {
		if on {
			return t[1]
		}
		return t[0]
	}
	if !on {
		return "the runaway script is stopped"
	}
	return fmt.Sprintf("a runaway test script sends %.0f charges a second", value)
}
