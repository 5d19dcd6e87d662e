package main

import (
	"time"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
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
	requests, _ := e.Limit("requests")
	return weirSubject(e, func(k key.Key, c []engine.Claim) []engine.Claim {
		return append(c, requests.Claim(k))
	}), nil
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
	return weirSubject(e, func(k key.Key, c []engine.Claim) []engine.Claim {
		return append(c, requests.Claim(k), in.Claim(k))
	}), nil
}

func weirInFlight(l limit, keys int) (subject, error) {
	e, err := engine.New(engine.Config{
		Limits:     []engine.Limit{{Name: "inside", Kind: engine.InFlight, Max: inside(l)}},
		Ladder:     engine.Ladder{Mode: engine.Off},
		MaxEntries: max(keys, 1<<10),
	})
	if err != nil {
		return subject{}, err
	}
	in, _ := e.Limit("inside")
	return weirSubject(e, func(k key.Key, c []engine.Claim) []engine.Claim {
		return append(c, in.Claim(k))
	}), nil
}

// weirSubject turns keys into requests. A whole decision is the key's identity,
// Admit and Done.
func weirSubject(e *engine.Engine, claims func(key.Key, []engine.Claim) []engine.Claim) subject {
	return subject{
		decide: func(text string) bool {
			var c [2]engine.Claim
			t := e.Admit(engine.Request{Class: engine.Read, Claims: claims(e.Key(text), c[:0])})
			ok := t.OK()
			t.Done(engine.Success)
			return ok
		},
		take: func(text string) bool {
			var c [2]engine.Claim
			t := e.Admit(engine.Request{Class: engine.Read, Claims: claims(e.Key(text), c[:0])})
			return t.OK()
		},
		bytes: func() uint64 { return uint64(e.Snapshot().Table.Bytes) },
	}
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
