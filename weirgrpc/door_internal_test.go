package weirgrpc

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weir-go/weir/engine"
)

func TestOutcomeOfACall(t *testing.T) {
	alive := context.Background()
	gone, cancel := context.WithCancel(alive)
	cancel()
	for _, c := range []struct {
		ctx      context.Context
		returned bool
		err      error
		want     engine.Outcome
	}{
		{alive, true, nil, engine.Success},
		{alive, true, status.Error(codes.NotFound, ""), engine.Success},
		{alive, true, errors.New("of no code"), engine.Success},
		{alive, true, status.Error(codes.DeadlineExceeded, ""), engine.Dropped},
		{alive, true, status.Error(codes.ResourceExhausted, ""), engine.Dropped},
		{alive, true, status.Error(codes.Unavailable, ""), engine.Dropped},
		{alive, true, status.Error(codes.Canceled, ""), engine.Ignored},
		{alive, false, nil, engine.Dropped},
		{gone, true, nil, engine.Ignored},
	} {
		require.Equal(t, c.want, outcome(c.ctx, c.returned, c.err), "%v %v", c.returned, c.err)
	}
}

func TestWaitsAreFewAndNeverShort(t *testing.T) {
	seen := map[time.Duration]bool{}
	for d := time.Duration(1); d < 31*24*time.Hour; d += d/500 + 1 {
		r := roundUp(d)
		require.GreaterOrEqual(t, r, d)
		require.LessOrEqual(t, r-d, max(d/6+10*time.Millisecond, time.Second))
		require.Equal(t, r, roundUp(r))
		seen[r] = true
	}
	require.Less(t, len(seen), 1200)
	require.Equal(t, 10*time.Millisecond, roundUp(0))
	require.EqualValues(t, -1, roundUp(-1))
}
