package front_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front"
)

func TestOutcome(t *testing.T) {
	alive := context.Background()
	gone, cancel := context.WithCancel(alive)
	cancel()
	late, cancel := context.WithDeadline(alive, time.Unix(0, 0))
	defer cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		ok   bool
		want engine.Outcome
	}{
		{"returned", alive, true, engine.Success},
		{"failed or panicked", alive, false, engine.Dropped},
		{"past its deadline", late, true, engine.Dropped},
		{"past its deadline and panicked", late, false, engine.Dropped},
		{"the client left", gone, true, engine.Ignored},
		{"the client left and a proxy panicked over it", gone, false, engine.Ignored},
	} {
		require.Equal(t, c.want, front.Outcome(c.ctx, c.ok), c.name)
	}
}

func TestTheTicketsContextIsTheRequests(t *testing.T) {
	type key struct{}
	parent, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "v"))
	x := &front.Exchange{Context: parent}
	child, stop := context.WithCancel(x)
	defer stop()
	require.Equal(t, "v", child.Value(key{}))
	require.Same(t, x, front.From(child))
	require.Nil(t, front.From(parent))
	cancel()
	<-child.Done()
	require.ErrorIs(t, child.Err(), context.Canceled)
}

func TestEveryRefusalHasWords(t *testing.T) {
	for r := engine.Limited; r <= engine.Closed; r++ {
		require.NotEmpty(t, front.Detail(r), r)
	}
	require.Empty(t, front.Detail(engine.Admitted))
}
