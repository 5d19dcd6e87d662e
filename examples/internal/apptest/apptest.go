// Package apptest drives an example over a real connection, on a clock that
// stands still.
package apptest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/examples/internal/app"
)

// Server is a running example.
type Server struct {
	*app.Guarded
	Clock *engine.ManualClock
	t     testing.TB
	url   string
}

// Start runs the service under the policy.yaml beside the test.
func Start(t testing.TB, s app.Service) *Server {
	t.Helper()
	clock := engine.NewManualClock(time.Date(2036, time.March, 2, 12, 0, 0, 0, time.UTC))
	g, err := s.Guard("policy.yaml", engine.Config{Clock: clock})
	require.NoError(t, err)
	srv := httptest.NewServer(g)
	t.Cleanup(func() {
		srv.Close()
		require.NoError(t, g.Engine.Close())
	})
	return &Server{Guarded: g, Clock: clock, t: t, url: srv.URL}
}

// Do sends a request and returns the answer, its body read. headers are names
// and values in turn.
func (s *Server) Do(method, path string, body io.Reader, headers ...string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, body)
	require.NoError(s.t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(s.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res, string(text)
}

// Statuses sends the same request n times and counts the answers by status.
func (s *Server) Statuses(n int, send func() (*http.Response, string)) map[int]int {
	s.t.Helper()
	out := map[int]int{}
	for range n {
		res, _ := send()
		out[res.StatusCode]++
	}
	return out
}
