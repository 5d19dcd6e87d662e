package weirhttp_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front/fronttest"
	"github.com/weir-go/weir/weirhttp"
)

// What was used is settled also when nobody waits for the answer any more.
func TestSettleReachesTheTicketWhenTheClientHasLeft(t *testing.T) {
	l := fronttest.Bucket("tokens", 1, time.Hour, 100)
	l.PostPaid = true
	e := fronttest.Engine(t, engine.Config{Limits: []engine.Limit{l}, MaxEntries: 1000, Clock: fronttest.Still()})
	id, _ := e.Limit("tokens")
	left := func() int64 {
		ticket := e.Admit(engine.Request{Claims: []engine.Claim{id.Claim(e.Key(""))}})
		defer ticket.Done(engine.Ignored)
		ticket.Settle(id, 0)
		return ticket.Decision().Remaining + 1
	}
	started := make(chan struct{})
	h, ended := after(weirhttp.Handler(e, fronttest.By(t, e, "tokens"))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
		weirhttp.Settle(r.Context(), id, 30)
	})))
	s := serve(t, h)
	ctx, abort := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	require.NoError(t, err)
	failed := make(chan error)
	go func() {
		_, err := s.Client().Do(r)
		failed <- err
	}()
	<-started
	abort()
	require.ErrorIs(t, <-failed, context.Canceled)
	<-ended
	require.EqualValues(t, 70, left())
	require.Zero(t, e.Snapshot().Misuse.Settle)
}
