package main

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir/bench/internal/workload"
)

// check says what is wrong with a contestant: a limiter that does not limit is
// fast.
func check(c contestant, g group) error {
	s, err := c.make(strict, 64)
	if err != nil {
		return err
	}
	keys := 64
	if !g.keyed {
		keys = 1
	}
	if g.name != "rate" {
		// What goes in and out again holds nothing.
		for i := range 1000 {
			if !s.decide(workload.Name(i % keys)) {
				return fmt.Errorf("%s: refused after everyone had left", c.name)
			}
		}
	}
	passed := make([]atomic.Int64, keys)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 10 * keys {
				if s.take(workload.Name(i % keys)) {
					passed[i%keys].Add(1)
				}
			}
		})
	}
	wg.Wait()
	for id := range passed {
		if n := passed[id].Load(); n != strict.count {
			return fmt.Errorf("%s: key %d: let %d of 40 pass, not %d", c.name, id, n, strict.count)
		}
	}
	if g.keyed && !s.take(workload.Name(keys)) {
		return fmt.Errorf("%s: refused a key that had not asked before", c.name)
	}
	return nil
}
