package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// A request without any claim is decided by the layers that need none.
func TestRequestWithoutClaims(t *testing.T) {
	f := start(t, engine.Config{Gate: engine.Gate{Capacity: 1}})
	a := f.Admit(engine.Request{Class: engine.Read})
	require.Equal(t, engine.Decision{Remaining: -1}, a.Decision())
	b := f.Admit(engine.Request{Class: engine.Read})
	require.Equal(t, engine.Reserved, b.Decision().Reason)
	a.Done(engine.Success)
	c := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{}})
	require.True(t, c.OK())
	c.Done(engine.Success)
}
