package histories_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/histories"
)

// next is the model of a counter that gives every number once.
var next = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, _, output any) (bool, any) { return output.(int) == state.(int)+1, state.(int) + 1 },
}

func count(counter func() int) func(int, func(string, func() int)) {
	return func(_ int, call func(string, func() int)) {
		for range 50 {
			call("next", counter)
		}
	}
}

func TestACounterIsLinearizable(t *testing.T) {
	var n atomic.Int64
	histories.Check(t, next, 4, count(func() int { return int(n.Add(1)) }))
}

// probe is a test that remembers whether it failed, and goes on.
type probe struct {
	testing.TB
	failed bool
}

func (p *probe) Fatalf(string, ...any) { p.failed = true }

// A counter that reads and writes in two steps gives a number twice, and is
// found out: what checks others has to be able to fail.
func TestATornCounterIsFoundOut(t *testing.T) {
	var n atomic.Int64
	var both sync.WaitGroup
	both.Add(2)
	p := &probe{TB: t}
	histories.Check(p, next, 2, func(_ int, call func(string, func() int)) {
		call("next", func() int {
			seen := n.Load()
			both.Done()
			both.Wait() // the other one has read too
			n.Store(seen + 1)
			return int(seen + 1)
		})
	})
	require.True(t, p.failed)
}
