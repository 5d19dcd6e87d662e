package main

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/examples/internal/apptest"
)

func TestSearchIsLimitedPerClientNetwork(t *testing.T) {
	s := apptest.Start(t, service())
	search := func(forwarded ...string) func() (*http.Response, string) {
		var headers []string
		for _, f := range forwarded {
			headers = append(headers, "X-Forwarded-For", f)
		}
		return func() (*http.Response, string) { return s.Do("GET", "/search?q=weir", nil, headers...) }
	}
	require.Equal(t, map[int]int{200: 60, 429: 5}, s.Statuses(65, search("203.0.113.1")))
	// Each is a client of its own, whatever it put into the header itself.
	require.Equal(t, map[int]int{200: 60, 429: 5}, s.Statuses(65, search("203.0.113.1, 203.0.113.2")))
	require.Equal(t, map[int]int{200: 60, 429: 5}, s.Statuses(65, search("203.0.113.1", "203.0.113.3, 10.0.0.7")))
	// An IPv6 client is its /64.
	i := 0
	rotating := func() (*http.Response, string) {
		i++
		return search(fmt.Sprintf("2001:db8:0:1::%x", i))()
	}
	require.Equal(t, map[int]int{200: 60, 429: 40}, s.Statuses(100, rotating))

	res, _ := search("203.0.113.1")()
	require.Equal(t, "1", res.Header.Get("Retry-After"))
	s.Clock.Advance(time.Second)
	require.Equal(t, map[int]int{200: 1, 429: 1}, s.Statuses(2, search("203.0.113.1")))
}

func TestHealthCheckIsNeverLimited(t *testing.T) {
	s := apptest.Start(t, service())
	require.Equal(t, map[int]int{200: 500}, s.Statuses(500, func() (*http.Response, string) { return s.Do("GET", "/healthz", nil) }))
	require.Zero(t, s.Engine.Snapshot().Admitted, "no layer has seen them")
}
