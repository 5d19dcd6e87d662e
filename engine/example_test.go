package engine_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir/engine"
)

// Two logins an hour for each account, and a share of the process that is kept
// for critical requests.
func Example() {
	e := engine.Must(engine.New(engine.Config{
		Limits: []engine.Limit{{Name: "login", Rate: 2, Per: time.Hour, Burst: 2, Fail: engine.FailClosed}},
		Gate:   engine.Gate{Capacity: 200, Reserve: 0.2},
		Clock:  engine.NewManualClock(time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)), // for the example: nil is the real time
	}))
	defer e.Close()
	login, _ := e.Limit("login") // once, at wiring

	for range 3 {
		t := e.Admit(engine.Request{
			Class:  engine.Write,
			Claims: []engine.Claim{login.Claim(e.Key("login", "a@example.org"))},
		})
		d := t.Decision()
		fmt.Println(d.Reason, d.Layer, e.LimitName(d.Limit), d.Remaining, d.RetryAfter)
		t.Done(engine.Success) // when the work has ended; nothing for a refused one
	}
	// Output:
	// admitted none login 1 0s
	// admitted none login 0 0s
	// limited rate login 0 30m0s
}

// A limit is watched before it may refuse: it counts whom it would have hit.
func ExampleEngine_SetMode() {
	e := engine.Must(engine.New(engine.Config{
		Limits: []engine.Limit{{Name: "api", Rate: 1, Per: time.Hour, Burst: 1, Mode: engine.Shadow}},
	}))
	defer e.Close()
	api, _ := e.Limit("api")
	ask := func() bool {
		t := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{api.Claim(e.Key("acme"))}})
		defer t.Done(engine.Success)
		return t.OK()
	}
	fmt.Println(ask(), ask(), e.Snapshot().Limits[0].WouldRefuse[engine.Read][engine.Limited])
	if err := e.SetMode("api", engine.Enforce); err != nil {
		fmt.Println(err)
	}
	fmt.Println(ask())
	if err := e.SetMode("rate", engine.Off); err != nil { // the kill switch of the whole layer
		fmt.Println(err)
	}
	fmt.Println(ask())
	// Output:
	// true true 1
	// false
	// true
}

// One job at a time; whoever comes meanwhile is told so, or waits for a while.
func ExampleEngine_Do() {
	e := engine.Must(engine.New(engine.Config{
		Limits: []engine.Limit{{Name: "jobs", Kind: engine.InFlight, Max: 1}},
	}))
	defer e.Close()
	jobs, _ := e.Limit("jobs")
	req := engine.Request{Class: engine.Write, Claims: []engine.Claim{jobs.Claim(e.Key("acme"))}}

	err := e.Do(context.Background(), req, func(ctx context.Context) error {
		err := e.Do(ctx, req, func(context.Context) error { return nil })
		var refused *engine.RefusedError
		fmt.Println(errors.As(err, &refused), err)

		soon, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		_, err = e.Wait(soon, req)
		fmt.Println(err != nil)
		return nil
	})
	fmt.Println(err)
	t, err := e.Wait(context.Background(), req)
	defer t.Done(engine.Success)
	fmt.Println(t.OK(), err)
	// Output:
	// true weir: refused by limit "jobs" of layer concurrency: full
	// true
	// <nil>
	// true <nil>
}
