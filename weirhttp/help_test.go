package weirhttp_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

// newEngine returns an engine that is closed with the test.
func newEngine(t testing.TB, cfg engine.Config) *engine.Engine {
	t.Helper()
	e, err := engine.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// by claims one of each named limit for the value of the header X-Key, as a
// read.
func by(t testing.TB, e *engine.Engine, limits ...string) policy.Binder {
	t.Helper()
	var ids []engine.LimitID
	for _, name := range limits {
		id, ok := e.Limit(name)
		require.True(t, ok, name)
		ids = append(ids, id)
	}
	return policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		for _, id := range ids {
			dst = append(dst, id.Claim(e.Key(a.Header("X-Key"))))
		}
		return engine.Request{Class: engine.Read, Claims: dst}
	})
}

func inFlight(name string, n int64) engine.Config {
	return engine.Config{Limits: []engine.Limit{{Name: name, Kind: engine.InFlight, Max: n}}, MaxEntries: 1000}
}

func bucket(name string, rate int64, per time.Duration, burst int64) engine.Limit {
	return engine.Limit{Name: name, Rate: rate, Per: per, Burst: burst}
}

// still is a clock that stands until a test moves it.
func still() *engine.ManualClock {
	return engine.NewManualClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
}

// gauge is how many requests hold a place of the limit now.
func gauge(t testing.TB, e *engine.Engine, limit string) int64 {
	t.Helper()
	for _, l := range e.Snapshot().Limits {
		if l.Name == limit {
			return l.InFlight
		}
	}
	require.FailNow(t, "no such limit", limit)
	return 0
}

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
