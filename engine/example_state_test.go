package engine_test

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/engine"
)

// What a request costs is known afterwards: an estimate is held while it runs.
func ExampleTicket_Settle() {
	e := engine.Must(engine.New(engine.Config{
		Clock:  engine.NewManualClock(time.Unix(0, 0)),
		Limits: []engine.Limit{{Name: "tokens", Rate: 100, Per: time.Hour, Burst: 1000, PostPaid: true}},
	}))
	defer e.Close()
	tokens, _ := e.Limit("tokens")
	ask := func(estimate, actual int64) int64 {
		t := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{tokens.ClaimN(e.Key("acme"), estimate)}})
		defer t.Done(engine.Success)
		if t.OK() {
			t.Settle(tokens, actual)
		}
		return t.Decision().Remaining
	}
	fmt.Println(ask(600, 150))
	fmt.Println(ask(600, 900))
	fmt.Println(ask(1, 1)) // it owes 50 and waits for them
	// Output:
	// 400
	// 250
	// 0
}

// A changed rate keeps what every key has used.
func ExampleEngine_Swap() {
	cfg := engine.Config{
		Clock:  engine.NewManualClock(time.Unix(0, 0)),
		Limits: []engine.Limit{{Name: "api", Rate: 10, Per: time.Minute, Burst: 10}},
	}
	e := engine.Must(engine.New(cfg))
	defer e.Close()
	api, _ := e.Limit("api")
	ask := func() engine.Decision {
		t := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{api.ClaimN(e.Key("acme"), 10)}})
		defer t.Done(engine.Success)
		return t.Decision()
	}
	fmt.Println(ask().Reason, ask().RetryAfter)

	cfg.Limits = []engine.Limit{{Name: "api", Rate: 20, Per: time.Minute, Burst: 10}}
	fmt.Println(e.Swap(cfg), ask().RetryAfter)

	cfg.Limits = []engine.Limit{{Name: "api", Rate: -1, Per: time.Minute, Burst: 10}}
	fmt.Println(e.Swap(cfg)) // the one before stays in force
	// Output:
	// admitted 1m0s
	// <nil> 30s
	// engine: limit "api": rate -1: must be at least 1; to let nothing pass use kind block, to let everything pass use kind unlimited
}

// Why was this one refused? What every limit and layer says of it, and nothing
// is charged.
func ExampleEngine_Explain() {
	e := engine.Must(engine.New(engine.Config{
		Clock: engine.NewManualClock(time.Unix(0, 0)),
		Limits: []engine.Limit{
			{Name: "api", Rate: 1, Per: time.Second, Burst: 5},
			{Name: "jobs", Kind: engine.InFlight, Max: 1, Mode: engine.Shadow},
		},
		Gate: engine.Gate{Capacity: 10, Reserve: 0.2},
	}))
	defer e.Close()
	api, _ := e.Limit("api")
	jobs, _ := e.Limit("jobs")
	k := e.Key("acme")
	req := engine.Request{Class: engine.Read, Claims: []engine.Claim{api.Claim(k), jobs.Claim(k)}}
	held := e.Admit(req)
	defer held.Done(engine.Success)
	for _, v := range e.Explain(req) {
		fmt.Println(v.Name, v.Reason, v.Enforced)
	}
	// Output:
	// api admitted true
	// jobs full false
	// worker admitted true
	// fleet admitted true
}
