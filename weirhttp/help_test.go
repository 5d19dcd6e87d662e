package weirhttp_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// serve starts a real server; what it logs about panics is dropped.
func serve(t testing.TB, h http.Handler, change ...func(*httptest.Server)) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	for _, f := range change {
		f(s)
	}
	if s.TLS != nil || s.EnableHTTP2 {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// after wraps h and sends on the returned channel whenever it has ended, by
// whatever way.
func after(h http.Handler) (http.Handler, <-chan struct{}) {
	ended := make(chan struct{}, 10_000)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- struct{}{} }()
		h.ServeHTTP(w, r)
	}), ended
}

// get sends a GET and returns the answer with its body read.
func get(t testing.TB, s *httptest.Server, path string, header ...string) (*http.Response, string) {
	t.Helper()
	return do(t, s, http.MethodGet, path, header...)
}

func do(t testing.TB, s *httptest.Server, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, s.URL+path, nil)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := s.Client().Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp, string(body)
}

var ok = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
