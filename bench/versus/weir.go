package main

import (
	"time"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/ladder"
)

const weirModule = "github.com/weir-go/weir"

// weirRate is what the other libraries have: one rate per key.
func weirRate(l limit, keys int) (subject, error) {
	e, err := engine.New(engine.Config{
		Limits:     []engine.Limit{{Name: "requests", Rate: l.count, Per: l.per, Burst: l.count}},
		Ladder:     engine.Ladder{Mode: engine.Off},
		MaxEntries: max(keys, 1<<10),
	})
	if err != nil {
		return subject{}, err
	}
	return oneClaim(e, "requests"), nil
}

// weirInFlight is one count of requests in flight per key.
func weirInFlight(l limit, keys int) (subject, error) {
	e, err := engine.New(engine.Config{
		Limits:     []engine.Limit{{Name: "inside", Kind: engine.InFlight, Max: inside(l)}},
		Ladder:     engine.Ladder{Mode: engine.Off},
		MaxEntries: max(keys, 1<<10),
	})
	if err != nil {
		return subject{}, err
	}
	return oneClaim(e, "inside"), nil
}

// oneClaim is requests with a claim on one limit. A whole decision is the key's
// identity, Admit and Done.
func oneClaim(e *engine.Engine, name string) subject {
	l, _ := e.Limit(name)
	return subject{
		decide: func(text string) bool {
			k := e.Key(text)
			t := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{l.Claim(k)}})
			ok := t.OK()
			t.Done(engine.Success)
			return ok
		},
		take: func(text string) bool {
			t := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{l.Claim(e.Key(text))}})
			return t.OK()
		},
		bytes: tableBytes(e),
	}
}

// weirAll is all four layers: a rate and an in-flight claim on the key, the
// gate and the ladder.
func weirAll(l limit, keys int) (subject, error) {
	e, err := engine.New(engine.Config{
		Limits: []engine.Limit{
			{Name: "requests", Rate: l.count, Per: l.per, Burst: l.count},
			{Name: "inside", Kind: engine.InFlight, Max: perKey},
		},
		Gate: engine.Gate{Capacity: 1e6, Reserve: 0.2},
		Ladder: engine.Ladder{Signal: func() ladder.Reading {
			return ladder.Reading{Value: 0.3, At: time.Now(), OK: true}
		}},
		MaxEntries: max(2*keys, 1<<10),
	})
	if err != nil {
		return subject{}, err
	}
	requests, _ := e.Limit("requests")
	in, _ := e.Limit("inside")
	return subject{
		decide: func(text string) bool {
			k := e.Key(text)
			t := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{requests.Claim(k), in.Claim(k)}})
			ok := t.OK()
			t.Done(engine.Success)
			return ok
		},
		take: func(text string) bool {
			k := e.Key(text)
			t := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{requests.Claim(k), in.Claim(k)}})
			return t.OK()
		},
		bytes: tableBytes(e),
	}, nil
}

// weirGate is layer 3 alone: one count for the process, of which a fifth is
// kept for critical requests.
func weirGate(l limit, _ int) (subject, error) {
	e, err := engine.New(engine.Config{
		Gate:   engine.Gate{Capacity: int(inside(l)*5+3) / 4, Reserve: 0.2},
		Ladder: engine.Ladder{Mode: engine.Off},
	})
	if err != nil {
		return subject{}, err
	}
	return subject{
		decide: func(string) bool {
			t := e.Admit(engine.Request{Class: engine.Read})
			ok := t.OK()
			t.Done(engine.Success)
			return ok
		},
		take: func(string) bool {
			t := e.Admit(engine.Request{Class: engine.Read})
			return t.OK()
		},
	}, nil
}

// tableBytes is what the engine says that its table takes.
func tableBytes(e *engine.Engine) func() uint64 {
	return func() uint64 { return uint64(e.Snapshot().Table.Bytes) }
}
