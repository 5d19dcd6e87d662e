package main

import (
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/shop"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
)

// The stage on which every act plays. Service times are in the shop package:
// on a quiet day less than half of the workers are busy.
const (
	workers  = 40
	queue    = 2000 // so long that patience ends a wait, not the queue
	patience = 1200 * time.Millisecond
)

// act is one scene of the story: an incident, played twice on the same traffic,
// in front of two configurations that differ in what the act is about.
type act struct {
	name  string // what -acts calls it
	title string
	tells string // what happens, in a sentence or two
	// halves are the two performances. The configuration of each is what the acts
	// before this one have armed, and then what the half adds; the second half's
	// additions stay for the acts that follow.
	halves [2]half
	// traffic is everything that is offered, in order of time. The same seed gives
	// the same requests.
	traffic func(s setting) []*target.Request
	// script changes the shop while the act runs.
	script func(s setting) []change
	times  func(s setting) times
	// verdict says what is not true of the act; nil when the story holds.
	verdict func(without, with *take) []string
}

// half is one performance of an act.
type half struct {
	name string // "without it", "with it"
	arms string // what the half adds, in words; "" for nothing
	arm  func(c *engine.Config, s setting)
}

// setting is what the user chose.
type setting struct {
	seed uint64
	// scale is by how much the ladder's time constants, and with them the length of
	// the acts that need it, are compressed.
	scale float64
}

// scaled is a time of the real world in the time of the story.
func (s setting) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / s.scale)
}

// times are an act's moments, since its start. What is offered between begin
// and end is what the tables count: the same requests in both halves.
type times struct {
	begin, end time.Duration // of the incident
	// over is when the second half ends at the latest; it ends when everything has
	// been admitted again for a while. The first half is over at end, and so is the
	// second of an act that has no aftermath.
	over time.Duration
}

// change is something that happens to the shop.
type change struct {
	at time.Duration
	do func(s *shop.Shop)
}

// story is the acts in their order.
func story() []act {
	return []act{rateAct(), concurrencyAct(), fleetAct(), workerAct()}
}

// limitNames are the limits that the story's binder claims when they exist.
const (
	limitRequests = "requests"
	limitInFlight = "in_flight"
)

// baseConfig is the engine in front of the shop before anything is armed.
func baseConfig(s *shop.Shop) engine.Config {
	return engine.Config{
		MaxEntries: 1 << 14,
		Workers:    s.Pool.Stats,
		Ladder:     engine.Ladder{Mode: engine.Off, Signal: s.Pool.Reading},
	}
}
