package workload

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/ladder"
)

// Layers is which of the four layers an engine is configured with.
type Layers string

// The sets of layers.
const (
	Rate        Layers = "rate"        // one token-bucket claim
	Concurrency Layers = "concurrency" // one in-flight claim
	Fleet       Layers = "fleet"       // the gate alone, no claim
	Worker      Layers = "worker"      // the ladder alone, no claim
	All         Layers = "all"         // both claims on one key, gate, ladder
)

func (l Layers) has(one Layers) bool { return l == one || l == All }

// By is what refuses every request of a rig.
type By string

// What refuses.
const (
	Nobody        By = ""            // every limit is far above what any benchmark can reach
	ByRate        By = "rate"        // the key's bucket is empty for the next hour
	ByConcurrency By = "concurrency" // the key has its one request in flight
	ByFleet       By = "fleet"       // all but the reserved share of the gate is taken
	ByWorker      By = "worker"      // the ladder sheds all of the request's class
)

// Rig is an engine that is set up for one benchmark.
type Rig struct {
	Engine       *engine.Engine
	rate, flight engine.LimitID
	class        engine.Class
	held         []*engine.Ticket
}

// Roomy is the least number of states a table is made for, a fleet's of synced keys
// too: to save at less than that saves nothing. Spread out over so many lines, few keys
// are pushed out of their place, and two cores seldom write the same one.
const Roomy = 1 << 14

// NewRig returns a rig for a number of keys. Its table has room for their states,
// as its owner would size it; entries, when it is not 0, is another number of
// states.
func NewRig(layers Layers, by By, keys, entries int) *Rig {
	cfg := config(layers, by)
	cfg.MaxEntries = entries
	if entries == 0 {
		cfg.MaxEntries = max(States(layers)*keys, Roomy)
	}
	r := newRig(cfg)
	r.saturate(by, keys)
	return r
}

// NewSyncedRig returns a rig of all four layers with the secret of a fleet, whose
// gate is leased by the syncer and whose named limits are shared through it; with
// no syncer, the same kept to oneself.
func NewSyncedRig(s engine.Syncer, keys int, shared ...string) *Rig {
	cfg := config(All, Nobody)
	for i := range cfg.Limits {
		if slices.Contains(shared, cfg.Limits[i].Name) {
			cfg.Limits[i].Sync = engine.Sync{Mode: engine.SyncShare}
		}
	}
	cfg.Sync = s
	cfg.Secret = []byte("the same on every instance")
	cfg.MaxEntries = max(States(All)*keys, Roomy)
	return newRig(cfg)
}

func newRig(cfg engine.Config) *Rig {
	r := &Rig{Engine: engine.Must(engine.New(cfg)), class: engine.Read}
	r.rate, _ = r.Engine.Limit("requests")
	r.flight, _ = r.Engine.Limit("inside")
	return r
}

func config(layers Layers, by By) engine.Config {
	var cfg engine.Config
	if layers.has(Rate) {
		// A billion a second is more than any core can ask for.
		l := engine.Limit{Name: "requests", Kind: engine.TokenBucket, Rate: 1e9, Per: time.Second, Burst: 1e9}
		if by == ByRate {
			l.Rate, l.Per, l.Burst = 1, time.Hour, 1
		}
		cfg.Limits = append(cfg.Limits, l)
	}
	if layers.has(Concurrency) {
		l := engine.Limit{Name: "inside", Kind: engine.InFlight, Max: 1e6}
		if by == ByConcurrency {
			l.Max = 1
		}
		cfg.Limits = append(cfg.Limits, l)
	}
	if layers.has(Fleet) {
		cfg.Gate = engine.Gate{Capacity: 1e6, Reserve: 0.2}
		if by == ByFleet {
			cfg.Gate.Capacity = 10
		}
	}
	switch {
	case by == ByWorker:
		cfg.Ladder = engine.Ladder{Law: shedAtOnce(), Signal: load(100)}
	case layers.has(Worker):
		cfg.Ladder = engine.Ladder{Signal: load(0.3)}
	default:
		cfg.Ladder = engine.Ladder{Mode: engine.Off}
	}
	return cfg
}

// States is how many table entries one key takes under a set of layers.
func States(layers Layers) int {
	switch layers {
	case All:
		return 2
	case Rate, Concurrency:
		return 1
	}
	return 0
}

// load is a signal that always reads the same.
func load(value float64) func() ladder.Reading {
	return func() ladder.Reading { return ladder.Reading{Value: value, At: time.Now(), OK: true} }
}

// shedAtOnce is a law that sheds Test and Read on the first bad reading.
func shedAtOnce() ladder.Config {
	c := ladder.Default()
	c.Tick = 200 * time.Millisecond
	c.Arm, c.Brake, c.Max, c.StepUp = 0, 0, 2, ladder.Tiers
	for i := range c.ShedRate {
		c.ShedRate[i] = math.Inf(1)
	}
	return c
}

// saturate brings the engine into the state in which it refuses every key.
func (r *Rig) saturate(by By, keys int) {
	switch by {
	case ByFleet:
		for r.hold() {
		}
	case ByConcurrency:
		for id := range keys {
			k := r.Engine.Key(Name(id))
			t := r.Engine.Admit(engine.Request{Class: r.class, Claims: []engine.Claim{r.flight.Claim(k)}})
			r.held = append(r.held, &t)
		}
	case ByWorker:
		for deadline := time.Now().Add(30 * time.Second); r.Engine.Snapshot().Ladder.Level < 2; {
			if time.Now().After(deadline) {
				panic(fmt.Sprintf("workload: the ladder does not shed: %+v", r.Engine.Snapshot().Ladder))
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// hold takes one place in the gate and keeps it.
func (r *Rig) hold() bool {
	t := r.Engine.Admit(engine.Request{Class: r.class})
	if t.OK() {
		r.held = append(r.held, &t)
	}
	return t.OK()
}

// Fill lets every key from 0 to keys-1 ask once.
func (r *Rig) Fill(keys int) {
	b := make([]byte, 0, KeyLen)
	for id := range keys {
		r.Decide(string(appendName(b, id)))
	}
}

// Decide is one whole decision as a caller pays for it: the key's identity, the
// claims, Admit and Done. It reports whether the request was admitted.
func (r *Rig) Decide(text string) bool {
	k := r.Engine.Key(text)
	var claims [2]engine.Claim
	n := 0
	if r.rate != 0 {
		claims[n] = r.rate.Claim(k)
		n++
	}
	if r.flight != 0 {
		claims[n] = r.flight.Claim(k)
		n++
	}
	t := r.Engine.Admit(engine.Request{Class: r.class, Claims: claims[:n]})
	ok := t.OK()
	t.Done(engine.Success)
	return ok
}

// Close gives back what the rig holds and stops the engine.
func (r *Rig) Close() {
	for _, t := range r.held {
		t.Done(engine.Success)
	}
	_ = r.Engine.Close()
}
