package main

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/examples/internal/apptest"
)

func charge(s *apptest.Server, key string) func() (*http.Response, string) {
	return func() (*http.Response, string) {
		return s.Do("POST", "/v1/charges", nil, "Authorization", "Bearer "+key)
	}
}

func TestPlanSetsTheRate(t *testing.T) {
	s := apptest.Start(t, service(func() {}))
	require.Equal(t, map[int]int{200: 10, 429: 5}, s.Statuses(15, charge(s, "sk_live_bob")))
	require.Equal(t, map[int]int{200: 100, 429: 5}, s.Statuses(105, charge(s, "sk_live_carol")))
	require.Equal(t, map[int]int{200: 1000, 429: 5}, s.Statuses(1005, charge(s, "sk_live_acme")))
}

// A made-up key buys nothing: it is nobody's, and the address counts.
func TestRotatingKeysAreOneClient(t *testing.T) {
	s := apptest.Start(t, service(func() {}))
	got := map[int]int{}
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"} {
		res, _ := charge(s, key)()
		got[res.StatusCode]++
	}
	require.Equal(t, map[int]int{401: 10, 429: 2}, got)
}

// What a script meets in test mode is what it will meet live.
func TestTestModeMeetsTheSameRate(t *testing.T) {
	s := apptest.Start(t, service(func() {}))
	require.Equal(t, map[int]int{200: 10, 429: 5}, s.Statuses(15, charge(s, "sk_test_bob")))
	require.Equal(t, uint64(10), s.Engine.Snapshot().Admitted[engine.Test])
	require.Equal(t, map[int]int{200: 10, 429: 5}, s.Statuses(15, charge(s, "sk_live_bob")))
	require.Equal(t, uint64(10), s.Engine.Snapshot().Admitted[engine.Critical])
}

// Twenty of a tenant's requests run; the next is refused, whichever of its keys
// it uses, and another tenant is not touched.
func TestTenantHasTwentyInFlight(t *testing.T) {
	inside, end := make(chan struct{}), make(chan struct{})
	s := apptest.Start(t, service(func() {
		inside <- struct{}{}
		<-end
	}))
	var wg sync.WaitGroup
	for i := range 20 {
		key := []string{"sk_live_carol", "sk_live_carol2"}[i%2]
		wg.Go(func() { charge(s, key)() })
		<-inside
	}
	for _, key := range []string{"sk_live_carol", "sk_live_carol2"} {
		res, body := charge(s, key)()
		require.Equal(t, http.StatusTooManyRequests, res.StatusCode)
		require.Contains(t, body, `"running"`)
	}
	wg.Go(func() { charge(s, "sk_live_acme")() })
	<-inside
	close(end)
	wg.Wait()
	go func() { <-inside }()
	res, _ := charge(s, "sk_live_carol")()
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Zero(t, s.Engine.Snapshot().Gate.Critical)
}
