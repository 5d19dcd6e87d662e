package engine_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// Two goroutines give the same ticket back: what it holds comes back once.
func TestDoneFromTwoGoroutines(t *testing.T) {
	var many []engine.Limit
	for _, name := range []string{"a", "b", "c", "d"} {
		many = append(many, inFlight(name, 10))
	}
	f := start(t, engine.Config{Limits: many, Gate: engine.Gate{Capacity: 10}})
	for n := range 5 {
		var claims []engine.Claim
		for i := range n {
			claims = append(claims, f.claim(many[i].Name, "u", 1))
		}
		for range 300 {
			tk := f.Admit(engine.Request{Class: engine.Read, Claims: claims})
			require.True(t, tk.OK())
			run(2, func(int, *rand.Rand) { tk.Done(engine.Success) })
		}
		s := f.Snapshot()
		require.Zero(t, s.Gate.Other, "%d claims", n)
		for _, l := range s.Limits {
			require.Zero(t, l.InFlight, l.Name)
		}
		require.EqualValues(t, 300*(n+1), s.Misuse.DoubleDone)
	}
}
