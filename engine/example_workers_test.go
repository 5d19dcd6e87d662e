package engine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir/engine"
)

// A queue's consumer that never works on more than two jobs of a tenant at once.
// Jobs have time, so they wait; each gives its place back when it has ended.
func Example_workers() {
	e := engine.Must(engine.New(engine.Config{
		Limits: []engine.Limit{{Name: "tenant", Kind: engine.InFlight, Max: 2}},
	}))
	defer e.Close()
	tenant, _ := e.Limit("tenant")

	var atWork, most, done atomic.Int64
	work := func(ctx context.Context, who string) error {
		req := engine.Request{Class: engine.Write, Claims: []engine.Claim{tenant.Claim(e.Key(who))}}
		t, err := e.Wait(ctx, req)
		if err != nil {
			return err // the context ended, or waiting does not help
		}
		defer t.Done(engine.Success)
		n := atWork.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		done.Add(1)
		atWork.Add(-1)
		return nil
	}

	var wg sync.WaitGroup
	var failed error
	var once sync.Once
	for range 20 {
		wg.Go(func() {
			if err := work(context.Background(), "acme"); err != nil {
				once.Do(func() { failed = err })
			}
		})
	}
	wg.Wait()
	fmt.Println(done.Load(), most.Load() <= 2, failed)

	// Whoever does not want to wait is told so.
	req := engine.Request{Class: engine.Write, Claims: []engine.Claim{tenant.ClaimN(e.Key("acme"), 3)}}
	err := e.Do(context.Background(), req, func(context.Context) error { return nil })
	var refused *engine.RefusedError
	fmt.Println(errors.As(err, &refused), refused.Reason)
	// Output:
	// 20 true <nil>
	// true never_fits
}
