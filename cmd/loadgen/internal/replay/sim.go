package replay

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

// Policy is what recorded traffic is played against.
type Policy struct {
	Config engine.Config // without a Clock and a Secret
	// Bind makes what turns an event into a request, for an engine of Config or of
	// one with the same limits. It may ask its Attrs for a Coster.
	Bind func(*engine.Engine) (policy.Binder, error)
}

// Coster is what a Policy's binder may ask its Attrs for: the event's cost.
type Coster interface{ Cost() int64 }

// bound is an Event with what it asks of an engine, worked out once: parsing
// and hashing are not what a decision costs.
type bound struct {
	at, duration time.Duration // since the first event
	user         int32         // its number
	request      engine.Request
}

// Sim is recorded traffic, ready to be played through engines on a simulated
// clock. It is for one goroutine.
type Sim struct {
	Users  []string // by number
	policy Policy
	start  time.Time
	events []bound
	costs  bool // some event costs more than 1
	lasts  bool // some event has a duration
	need   int  // entries that these events can make, with room to spare; 0: not known yet
}

// secret makes all engines of a Sim hash alike, so that events are bound once.
var secret = []byte("a replay has nothing to hide")

// NewSim binds the events, which are in order of time.
func NewSim(events []Event, p Policy) (*Sim, error) {
	if len(events) == 0 {
		return nil, errors.New("replay: no events")
	}
	s := &Sim{policy: p, start: events[0].At, events: make([]bound, len(events))}
	e, _, err := s.engine(p.Config)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	binder, err := p.Bind(e)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	numbers := map[string]int32{}
	var claims []engine.Claim
	states := map[engine.Claim]struct{}{}
	for i, ev := range events {
		n, ok := numbers[ev.User]
		if !ok {
			n = int32(len(s.Users))
			numbers[ev.User] = n
			s.Users = append(s.Users, ev.User)
		}
		attrs := target.Attrs{R: &target.Request{Method: ev.Method, Path: ev.Path, User: ev.User}}
		var room [engine.MaxClaims]engine.Claim
		req := binder.Bind(costed{attrs, ev.Cost}, room[:0])
		if len(claims)+len(req.Claims) > cap(claims) {
			claims = make([]engine.Claim, 0, 1<<14) // the full one stays with its events
		}
		for _, c := range req.Claims {
			c.Cost = 0
			states[c] = struct{}{}
		}
		from := len(claims)
		claims = append(claims, req.Claims...)
		req.Claims = claims[from:len(claims):len(claims)]
		s.events[i] = bound{at: ev.At.Sub(s.start), duration: ev.Duration, user: n, request: req}
		s.costs = s.costs || ev.Cost > 1
		s.lasts = s.lasts || ev.Duration > 0
	}
	s.need = max(1<<8, 2*len(states))
	return s, nil
}

// engine makes an engine on a clock that stands at the first event.
func (s *Sim) engine(cfg engine.Config) (*engine.Engine, *engine.ManualClock, error) {
	clock := engine.NewManualClock(s.start)
	// Decisions read the clock itself, so that it can be moved without a tick.
	cfg.Clock, cfg.PreciseClock, cfg.Secret = clock, true, secret
	// A table as large as this traffic can need behaves like any larger one, and
	// the ticks of the simulated days go through less of it.
	if s.need > 0 && s.need < cmp.Or(cfg.MaxEntries, 1<<20) {
		cfg.MaxEntries = s.need
	}
	e, err := engine.New(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("replay: %w", err)
	}
	return e, clock, nil
}

// costed adds the event's cost to what a binder can ask.
type costed struct {
	target.Attrs
	cost int64
}

// Cost implements Coster.
func (c costed) Cost() int64 { return c.cost }

// Run plays all events through a fresh engine of cfg, which has the limits of
// the Sim's policy in the same order. sink is called for each event in order,
// with the number of its user and its decision. A request with a duration holds
// what it holds for that long.
func (s *Sim) Run(cfg engine.Config, sink func(user int32, class engine.Class, d engine.Decision)) error {
	e, clock, err := s.engine(cfg)
	if err != nil {
		return err
	}
	defer e.Close()
	var open tickets
	now, ticked, stride := time.Duration(0), time.Duration(0), strideOf(cfg)
	advance := func(to time.Duration) {
		switch {
		case to <= now:
			return
		case to-ticked < stride:
			clock.Drift(to - now)
		default:
			clock.Advance(to - now)
			ticked = to
		}
		now = to
	}
	end := func(o *held) {
		advance(o.until)
		o.ticket.Done(engine.Success)
	}
	for i := range s.events {
		b := &s.events[i]
		for len(open) > 0 && open[0].until <= b.at {
			end(heap.Pop(&open).(*held))
		}
		advance(b.at)
		if b.duration > 0 {
			o := &held{until: b.at + b.duration, ticket: e.Admit(b.request)}
			sink(b.user, b.request.Class, o.ticket.Decision())
			if o.ticket.OK() {
				heap.Push(&open, o)
			}
			continue
		}
		t := e.Admit(b.request)
		t.Done(engine.Success)
		sink(b.user, b.request.Class, t.Decision())
	}
	for len(open) > 0 {
		end(heap.Pop(&open).(*held))
	}
	return nil
}

// Len is how many events there are.
func (s *Sim) Len() int { return len(s.events) }

// Costs reports whether an event costs more than 1.
func (s *Sim) Costs() bool { return s.costs }

// Lasts reports whether an event has a duration.
func (s *Sim) Lasts() bool { return s.lasts }

// Span is the time from the first event to the last.
func (s *Sim) Span() time.Duration { return s.events[len(s.events)-1].at }

// held is an admitted request that has not ended.
type held struct {
	until  time.Duration
	ticket engine.Ticket
}

// tickets is a heap, the next to end first.
type tickets []*held

func (t tickets) Len() int           { return len(t) }
func (t tickets) Less(i, j int) bool { return t[i].until < t[j].until }
func (t tickets) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *tickets) Push(x any)        { *t = append(*t, x.(*held)) }
func (t *tickets) Pop() any {
	last := len(*t) - 1
	x := (*t)[last]
	*t = (*t)[:last]
	return x
}
