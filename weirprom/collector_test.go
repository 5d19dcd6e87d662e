package weirprom_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/ladder"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirhttp"
	"github.com/weir-go/weir/weirprom"
)

func newEngine(t *testing.T) (*engine.Engine, *engine.ManualClock) {
	t.Helper()
	clock := engine.NewManualClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	e, err := engine.New(engine.Config{
		Clock: clock, MaxEntries: 1 << 18,
		Limits: []engine.Limit{
			{Name: "api", Rate: 1, Per: time.Hour, Burst: 2},
			{Name: "jobs", Kind: engine.InFlight, Max: 1},
			{Name: "dark", Rate: 1, Per: time.Hour, Burst: 1, Mode: engine.Shadow},
			{Name: "banned", Kind: engine.Block},
			{Name: "free", Kind: engine.Unlimited},
			{Name: "llm", Rate: 10, Per: time.Second, Burst: 100, PostPaid: true},
		},
		Gate:   engine.Gate{Capacity: 10, Reserve: 0.2},
		Ladder: engine.Ladder{Signal: func() ladder.Reading { return ladder.Reading{Value: 0.5, OK: true} }},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e, clock
}

func claim(t *testing.T, e *engine.Engine, limit, who string) engine.Claim {
	t.Helper()
	id, ok := e.Limit(limit)
	require.True(t, ok)
	return id.Claim(e.Key(who))
}

func TestMetricsSayWhatHappened(t *testing.T) {
	e, clock := newEngine(t)
	admit := func(c engine.Class, claims ...engine.Claim) *engine.Ticket {
		ticket := e.Admit(engine.Request{Class: c, Claims: claims})
		return &ticket
	}
	for range 5 {
		admit(engine.Read, claim(t, e, "api", "a")).Done(engine.Success)
	}
	held := admit(engine.Critical, claim(t, e, "jobs", "a"))
	admit(engine.Write, claim(t, e, "jobs", "a")).Done(engine.Success)
	id, _ := e.Limit("llm")
	estimate := admit(engine.Test, id.ClaimN(e.Key("a"), 7))
	held2 := admit(engine.ClassUnset)
	held2.Done(engine.Success)
	held2.Done(engine.Success) // misuse
	require.NoError(t, e.SetMode("api", engine.Ramp(0.5, 0.25)))
	clock.Advance(2 * time.Second)

	want := `
# HELP weir_decisions_total Requests decided, by what decided them.
# TYPE weir_decisions_total counter
weir_decisions_total{class="critical",layer="none",limit="",reason="admitted"} 1
weir_decisions_total{class="read",layer="none",limit="",reason="admitted"} 3
weir_decisions_total{class="read",layer="rate",limit="api",reason="limited"} 3
weir_decisions_total{class="test",layer="none",limit="",reason="admitted"} 1
weir_decisions_total{class="write",layer="concurrency",limit="jobs",reason="full"} 1
# HELP weir_enabled_ratio Share of the keys for which a limit or a layer is enabled.
# TYPE weir_enabled_ratio gauge
weir_enabled_ratio{layer="rate",limit="api"} 0.5
# HELP weir_held_tokens Tokens that post-paid claims hold until they are settled.
# TYPE weir_held_tokens gauge
weir_held_tokens{limit="llm"} 7
# HELP weir_inflight Requests that hold a place now.
# TYPE weir_inflight gauge
weir_inflight{class="",layer="concurrency",limit="jobs"} 1
weir_inflight{class="critical",layer="fleet",limit=""} 1
weir_inflight{class="other",layer="fleet",limit=""} 1
# HELP weir_ladder_reading_ratio The last reading of the ladder's signal; 1 is every worker busy.
# TYPE weir_ladder_reading_ratio gauge
weir_ladder_reading_ratio 0.5
# HELP weir_misuse_total Calls that broke the contract of the API.
# TYPE weir_misuse_total counter
weir_misuse_total{kind="double_done"} 1
# HELP weir_unclassified_total Requests that came without a class and counted as the default one.
# TYPE weir_unclassified_total counter
weir_unclassified_total 1
`
	body := scrape(t, e)
	for _, line := range strings.Split(strings.TrimSpace(want), "\n") {
		require.Contains(t, body, line+"\n")
	}
	sum := 0
	for _, line := range strings.Split(body, "\n") {
		if strings.HasPrefix(line, "weir_decisions_total{") {
			var n int
			_, err := fmt.Sscan(line[strings.LastIndexByte(line, ' '):], &n)
			require.NoError(t, err)
			sum += n
		}
	}
	require.Equal(t, 9, sum, "every request is in one series")
	held.Done(engine.Success)
	estimate.Done(engine.Success)
	require.Contains(t, scrape(t, e), `weir_inflight{class="",layer="concurrency",limit="jobs"} 0`+"\n")
}

func scrape(t *testing.T, e *engine.Engine) string {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(weirprom.NewCollector(e)))
	w := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{ErrorHandling: promhttp.PanicOnError}).
		ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, w.Code)
	return w.Body.String()
}

func TestNamesFollowTheConventions(t *testing.T) {
	e, clock := newEngine(t)
	clock.Advance(2 * time.Second)
	problems, err := testutil.CollectAndLint(weirprom.NewCollector(e))
	require.NoError(t, err)
	require.Empty(t, problems)
}

func TestClientsCannotAddSeries(t *testing.T) {
	e, clock := newEngine(t)
	clock.Advance(2 * time.Second)
	limit, _ := e.Limit("api")
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
	h := weirhttp.Handler(e, policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		return engine.Request{Class: engine.Read, Claims: append(dst, limit.Claim(e.Key(a.Method(), a.Route(), a.Header("X-Key"))))}
	}), weirhttp.Mux(mux))(mux)

	before := testutil.CollectAndCount(weirprom.NewCollector(e))
	refused := 0
	for i := range 100_000 {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("X-Key", fmt.Sprint("key", i%25_000)) // the first refusal adds none either
		if i < 1000 {
			r.Method, r.URL.Path = fmt.Sprint("BOGUS", i), fmt.Sprint("/path/", i)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code == http.StatusTooManyRequests {
			refused++
		}
	}
	require.Positive(t, refused)
	require.Equal(t, before, testutil.CollectAndCount(weirprom.NewCollector(e)))
	require.Positive(t, before)
}

func TestTwoEnginesInOneRegistry(t *testing.T) {
	a, _ := newEngine(t)
	b, _ := newEngine(t)
	r := prometheus.NewPedanticRegistry()
	for name, e := range map[string]*engine.Engine{"a": a, "b": b} {
		require.NoError(t, prometheus.WrapRegistererWith(prometheus.Labels{"engine": name}, r).Register(weirprom.NewCollector(e)))
	}
	_, err := r.Gather()
	require.NoError(t, err)
}

func TestARemovedAndReturnedLimitIsOneSeries(t *testing.T) {
	e, clock := newEngine(t)
	for _, limits := range [][]engine.Limit{
		{},
		{{Name: "api", Rate: 1, Per: time.Hour, Burst: 2}},
		{{Name: "api", Kind: engine.InFlight, Max: 1}},
		{{Name: "api", Rate: 2, Per: time.Hour, Burst: 2}},
	} {
		require.NoError(t, e.Swap(engine.Config{Clock: clock, MaxEntries: 1 << 18, Limits: limits}))
		scrape(t, e) // a duplicate series fails it
	}
}
