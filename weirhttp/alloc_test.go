package weirhttp_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front/fronttest"
	"github.com/weir-go/weir/weirhttp"
)

func TestRefusalsAllocateLittleAndShareNothingMutable(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{{Name: "banned", Kind: engine.Block}}})
	h := weirhttp.Handler(e, fronttest.By(t, e, "banned"))(ok)
	r := mustRequest(t)
	w := &sink{header: http.Header{}}
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusTooManyRequests, w.status)
	w.header.Add("Content-Type", "text/plain") // a careless middleware further out
	w2 := &sink{header: http.Header{}}
	h.ServeHTTP(w2, r)
	require.Equal(t, []string{"application/problem+json"}, w2.header["Content-Type"])
	// The exchange is the one allocation.
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() { h.ServeHTTP(w2, r) }), 1.0)
}

func TestAdmittedRequestsAllocateTheirContextOnly(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{fronttest.Bucket("api", 1e6, time.Second, 1e6)}})
	h := weirhttp.Handler(e, fronttest.By(t, e, "api"))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := mustRequest(t)
	w := &sink{header: http.Header{}}
	// The exchange, and the request that carries it.
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() { h.ServeHTTP(w, r) }), 2.0)
}

// sink is a ResponseWriter that allocates nothing.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(code int)        { s.status = code }
func (s *sink) Write(b []byte) (int, error) { return len(b), nil }
