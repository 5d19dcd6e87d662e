package engine_test

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/ladder"
)

// All that there is to configure, at once. Nothing of it is required: the zero
// Config admits everything until the scheduler falls behind.
func ExampleConfig() {
	cfg := engine.Config{
		Limits: []engine.Limit{
			{Name: "api", Kind: engine.TokenBucket, Rate: 100, Per: time.Second, Burst: 200},
			{Name: "tokens", Kind: engine.TokenBucket, Rate: 10_000, Per: time.Minute, Burst: 20_000, PostPaid: true},
			{Name: "daily", Kind: engine.Quota, Rate: 50_000, Window: engine.Day, Zone: "Europe/Berlin", ResetAt: 6 * time.Hour},
			{Name: "login", Kind: engine.Sliding, Rate: 5, Per: time.Hour, Fail: engine.FailClosed, Overflow: engine.OverflowClosed},
			{Name: "jobs", Kind: engine.InFlight, Max: 4, RetryAfter: 2 * time.Second, Mode: engine.Ramp(1, 0.1)},
			{Name: "banned", Kind: engine.Block},
			{Name: "partner", Kind: engine.Unlimited},
		},
		Gate:       engine.Gate{Capacity: 200, Reserve: 0.2, HardCap: 400, RetryAfter: time.Second},
		Ladder:     engine.Ladder{Mode: engine.Shadow, Law: ladder.Default(), RetryAfter: 5 * time.Second},
		Workers:    func() engine.WorkerStats { return engine.WorkerStats{Busy: 3, Queued: 0, Live: 40} },
		Default:    engine.Read,
		MaxEntries: 1 << 20,
		Secret:     []byte("sixteen bytes or more"),
		Clock:      engine.NewManualClock(time.Now()),
		Logger:     slog.Default(),
	}
	e, err := engine.New(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	fmt.Println(e.Snapshot().Table.MaxEntries)

	cfg.Limits[0].Burst, cfg.Limits[1].Per = 0, 0
	fmt.Println(cfg.Validate())
	// Output:
	// 1048576
	// engine: limit "api": burst 0: must be from 1 to 18014398509481984
	// engine: limit "tokens": per 0s: must be at least 1ns
}

// A test of a service moves the clock instead of sleeping.
func ExampleManualClock() {
	clock := engine.NewManualClock(time.Date(2026, time.March, 1, 23, 59, 0, 0, time.UTC))
	e := engine.Must(engine.New(engine.Config{
		Clock: clock,
		Limits: []engine.Limit{
			{Name: "api", Rate: 1, Per: time.Second, Burst: 2},
			{Name: "daily", Kind: engine.Quota, Rate: 3, Window: engine.Day},
		},
	}))
	defer e.Close()
	api, _ := e.Limit("api")
	daily, _ := e.Limit("daily")
	ask := func() {
		k := e.Key("acme")
		t := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{api.Claim(k), daily.Claim(k)}})
		defer t.Done(engine.Success)
		d := t.Decision()
		fmt.Println(d.Reason, e.LimitName(d.Limit), d.RetryAfter)
	}
	ask()
	ask()
	ask()
	clock.Advance(time.Second)
	ask()
	clock.Advance(time.Second)
	ask()
	clock.Advance(58 * time.Second) // midnight
	ask()
	// Output:
	// admitted api 0s
	// admitted api 0s
	// limited api 1s
	// admitted api 0s
	// limited daily 58s
	// admitted api 0s
}
