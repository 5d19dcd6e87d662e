package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/examples/internal/apptest"
)

func reset(s *apptest.Server, email, from string) (*http.Response, string) {
	return s.Do("POST", "/password-reset", strings.NewReader(fmt.Sprintf("{%q:%q}", "email", email)), "X-Forwarded-For", from)
}

func TestOneAccountIsNotHarassed(t *testing.T) {
	s := apptest.Start(t, service())
	i := 0
	harass := func() (*http.Response, string) { // another address and another spelling each time
		i++
		return reset(s, []string{"victim@x.org", "VICTIM@x.org", " victim@X.org"}[i%3], fmt.Sprintf("203.0.113.%d", i))
	}
	require.Equal(t, map[int]int{200: 5, 429: 15}, s.Statuses(20, harass))
	res, body := harass()
	require.Contains(t, body, `"reset-account"`)
	require.NotEmpty(t, res.Header.Get("Retry-After"))
	// The refused ones have charged nobody's network.
	require.Equal(t, map[int]int{200: 1}, s.Statuses(1, func() (*http.Response, string) { return reset(s, "other@x.org", "203.0.113.9") }))
	s.Clock.Advance(75 * time.Minute) // a sub-window counts until it is wholly past
	require.Equal(t, map[int]int{200: 5, 429: 5}, s.Statuses(10, harass))
}

func TestManyAccountsAreNotSprayed(t *testing.T) {
	s := apptest.Start(t, service())
	i := 0
	require.Equal(t, map[int]int{200: 20, 429: 10}, s.Statuses(30, func() (*http.Response, string) {
		i++
		return reset(s, fmt.Sprintf("user%d@x.org", i), "203.0.113.1")
	}))
	_, body := reset(s, "user99@x.org", "203.0.113.1")
	require.Contains(t, body, `"reset-network"`)
}

func TestRequestWithoutAnAddressStillCountsByNetwork(t *testing.T) {
	s := apptest.Start(t, service())
	require.Equal(t, map[int]int{400: 20, 429: 5}, s.Statuses(25, func() (*http.Response, string) {
		return s.Do("POST", "/password-reset", strings.NewReader("junk"), "X-Forwarded-For", "203.0.113.1")
	}))
}

// An unguarded form is worth attacking, so these limits refuse when they can't
// decide.
func TestFormIsClosedWhenTheLimiterFails(t *testing.T) {
	s := apptest.Start(t, service())
	require.NoError(t, s.Engine.Close()) // stands for a limiter that can't decide
	res, _ := reset(s, "a@x.org", "203.0.113.1")
	require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
	for _, l := range s.Bound.Policy().Config().Limits {
		require.Equal(t, engine.FailClosed, l.Fail, l.Name)
	}
}
