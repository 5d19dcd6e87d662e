package weirhttp_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front/fronttest"
	"github.com/weir-go/weir/ladder"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirhttp"
)

// problem is the body of a refusal.
type problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail"`
	Reason   string   `json:"reason"`
	Layer    string   `json:"layer"`
	Limit    string   `json:"limit"`
	Violated []string `json:"violated-policies"`
}

func parse(t testing.TB, body string) (p problem) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(body), &p), body)
	return p
}

func TestWaitingAsToldIsAlwaysEnough(t *testing.T) {
	clock := fronttest.Still()
	e := fronttest.Engine(t, engine.Config{Clock: clock, MaxEntries: 1000, Limits: []engine.Limit{
		fronttest.Bucket("fast", 10, time.Second, 1), fronttest.Bucket("slow", 7, 100*time.Second, 3),
	}})
	for _, limit := range []string{"fast", "slow"} {
		h := weirhttp.Handler(e, fronttest.By(t, e, limit))(ok)
		send := func() *http.Response {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, mustRequest(t))
			return w.Result()
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		refusals := 0
		for range 1000 {
			resp := send()
			if resp.StatusCode == http.StatusOK {
				clock.Advance(time.Duration(rnd.Int64N(int64(time.Millisecond))))
				continue
			}
			refusals++
			require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
			s, err := strconv.Atoi(resp.Header.Get("Retry-After"))
			require.NoError(t, err)
			require.GreaterOrEqual(t, s, 1)
			if limit == "fast" {
				require.Equal(t, 1, s, "a wait of 0.1 s or less is one second on the wire")
			}
			clock.Advance(time.Duration(s) * time.Second)
			require.Equal(t, http.StatusOK, send().StatusCode)
		}
		require.Greater(t, refusals, 100)
	}
}

func TestARefusalNamesLayerAndLimitAndNoKey(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{fronttest.Bucket("login", 1, time.Hour, 1)}})
	s := serve(t, weirhttp.Handler(e, fronttest.By(t, e, "login"))(ok))
	const secret = "sk_live_4242"
	resp, _ := get(t, s, "/", "X-Key", secret)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	for range 2 {
		resp, body := get(t, s, "/", "X-Key", secret)
		require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
		require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
		require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
		require.Equal(t, "3600", resp.Header.Get("Retry-After"))
		require.Equal(t, strconv.Itoa(len(body)), resp.Header.Get("Content-Length"))
		p := parse(t, body)
		require.Equal(t, problem{
			Title: "Too Many Requests", Status: 429, Detail: p.Detail,
			Reason: "limited", Layer: "rate", Limit: "login",
		}, p)
		require.NotEmpty(t, p.Detail)
		var all bytes.Buffer
		require.NoError(t, resp.Header.Write(&all))
		require.NotContains(t, all.String()+body, "4242")
	}
}

func TestEveryLayerAnswersWithItsOwnStatus(t *testing.T) {
	reading := func() ladder.Reading { return ladder.Reading{Value: 2, OK: true} }
	clock := fronttest.Still()
	e := fronttest.Engine(t, engine.Config{
		Clock: clock, MaxEntries: 1000,
		Limits: []engine.Limit{
			fronttest.Bucket("requests", 1, time.Hour, 2),
			{Name: "jobs", Kind: engine.InFlight, Max: 1, RetryAfter: 3 * time.Second},
			{Name: "banned", Kind: engine.Block},
		},
		Gate:   engine.Gate{Capacity: 10, Reserve: 0.8, HardCap: 10, RetryAfter: 5 * time.Second},
		Ladder: engine.Ladder{Signal: reading, RetryAfter: 7 * time.Second, Mode: engine.Off},
	})
	limit := func(name string) engine.LimitID { id, _ := e.Limit(name); return id }
	ask := func(class engine.Class, claims ...engine.Claim) (*http.Response, problem) {
		b := policy.BinderFunc(func(policy.Attrs, []engine.Claim) engine.Request {
			return engine.Request{Class: class, Claims: claims}
		})
		w := httptest.NewRecorder()
		weirhttp.Handler(e, b)(ok).ServeHTTP(w, mustRequest(t))
		if w.Code == http.StatusOK {
			return w.Result(), problem{}
		}
		return w.Result(), parse(t, w.Body.String())
	}
	k := e.Key("a")

	t.Run("a cost that never fits", func(t *testing.T) {
		resp, p := ask(engine.Read, limit("requests").ClaimN(k, 3))
		require.Equal(t, 429, resp.StatusCode)
		require.NotContains(t, resp.Header, "Retry-After", "waiting does not help")
		require.Equal(t, "never_fits", p.Reason)
	})
	t.Run("a blocked key", func(t *testing.T) {
		resp, p := ask(engine.Read, limit("banned").Claim(k))
		require.Equal(t, 429, resp.StatusCode)
		require.NotContains(t, resp.Header, "Retry-After")
		require.Equal(t, "banned", p.Limit)
	})
	t.Run("the key's own concurrency", func(t *testing.T) {
		held := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{limit("jobs").Claim(k)}})
		defer held.Done(engine.Success)
		require.True(t, held.OK())
		resp, p := ask(engine.Read, limit("jobs").Claim(k))
		require.Equal(t, 429, resp.StatusCode)
		require.Equal(t, "3", resp.Header.Get("Retry-After"))
		require.Equal(t, [2]string{"full", "concurrency"}, [2]string{p.Reason, p.Layer})
	})
	t.Run("the reserved share", func(t *testing.T) {
		a := e.Admit(engine.Request{Class: engine.Read})
		defer a.Done(engine.Success)
		b := e.Admit(engine.Request{Class: engine.Read})
		defer b.Done(engine.Success)
		resp, p := ask(engine.Read)
		require.Equal(t, 503, resp.StatusCode)
		require.Equal(t, "5", resp.Header.Get("Retry-After"))
		require.Equal(t, problem{Title: "Service Unavailable", Status: 503, Detail: p.Detail, Reason: "reserved", Layer: "fleet"}, p)
		resp, _ = ask(engine.Critical)
		require.Equal(t, 200, resp.StatusCode)
	})
	t.Run("the ladder", func(t *testing.T) {
		require.NoError(t, e.SetMode("worker", engine.Enforce))
		defer func() { require.NoError(t, e.SetMode("worker", engine.Off)) }()
		clock.Advance(2 * time.Minute)
		resp, p := ask(engine.Test)
		require.Equal(t, 503, resp.StatusCode)
		require.Equal(t, "7", resp.Header.Get("Retry-After"))
		require.Equal(t, [2]string{"shed", "worker"}, [2]string{p.Reason, p.Layer})
		// The caller's own limit comes first.
		ask(engine.Critical, limit("requests").ClaimN(k, 2))
		resp, p = ask(engine.Test, limit("requests").Claim(k))
		require.Equal(t, 429, resp.StatusCode)
		require.Equal(t, "requests", p.Limit)
	})

	refused := uint64(0)
	s := e.Snapshot()
	for _, l := range s.Limits {
		for _, c := range l.Refused {
			for _, n := range c {
				refused += n
			}
		}
	}
	for c := range s.Gate.Refused {
		refused += s.Gate.Refused[c] + s.Ladder.Refused[c]
	}
	require.EqualValues(t, 6, refused, "every refusal is counted once")
}

func TestClosedIsTheServersFault(t *testing.T) {
	l := fronttest.Bucket("otp", 1, time.Second, 1)
	l.Fail = engine.FailClosed
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{l}})
	id, _ := e.Limit("otp")
	b := policy.BinderFunc(func(policy.Attrs, []engine.Claim) engine.Request {
		c := id.Claim(e.Key("a"))
		return engine.Request{Claims: []engine.Claim{c, c}} // misuse: the strictest policy answers
	})
	s := serve(t, weirhttp.Handler(e, b)(ok))
	resp, body := get(t, s, "/")
	require.Equal(t, 503, resp.StatusCode)
	require.Equal(t, "closed", parse(t, body).Reason)
}

func TestHeadCountsLikeGet(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{fronttest.Bucket("get", 1, time.Hour, 1)}})
	id, _ := e.Limit("get")
	b := policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		return engine.Request{Claims: append(dst, id.Claim(e.Key(a.Method())))}
	})
	s := serve(t, weirhttp.Handler(e, b)(ok))
	resp, _ := do(t, s, http.MethodHead, "/")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	resp, _ = get(t, s, "/")
	require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	resp, body := do(t, s, http.MethodHead, "/")
	require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	require.Empty(t, body)
	require.NotEmpty(t, resp.Header.Get("Retry-After"))
}

func TestPreflightsAreFreeAndRefusalsReadable(t *testing.T) {
	const origin = "https://shop.example"
	cors := func(h http.Handler) http.Handler { // as a CORS middleware does it
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
			if r.Method == http.MethodOptions {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
	for name, wrap := range map[string]func(guard func(http.Handler) http.Handler) http.Handler{
		"the service's CORS inside":  func(guard func(http.Handler) http.Handler) http.Handler { return guard(cors(ok)) },
		"the service's CORS outside": func(guard func(http.Handler) http.Handler) http.Handler { return cors(guard(ok)) },
	} {
		t.Run(name, func(t *testing.T) {
			e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{fronttest.Bucket("api", 1, time.Hour, 1)}})
			s := serve(t, wrap(weirhttp.Handler(e, fronttest.By(t, e, "api"), weirhttp.AllowOrigins(origin))))
			for range 5 {
				resp, _ := do(t, s, http.MethodOptions, "/", "Origin", origin, "Access-Control-Request-Method", "GET")
				require.Equal(t, http.StatusNoContent, resp.StatusCode)
			}
			resp, _ := get(t, s, "/", "Origin", origin)
			require.Equal(t, http.StatusOK, resp.StatusCode)
			resp, _ = get(t, s, "/", "Origin", origin)
			require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
			require.Equal(t, []string{origin}, resp.Header.Values("Access-Control-Allow-Origin"))
			require.Contains(t, resp.Header.Get("Access-Control-Expose-Headers"), "Retry-After")
		})
	}
	t.Run("what one further out has set stays", func(t *testing.T) {
		e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{{Name: "api", Kind: engine.Block}}})
		h := weirhttp.Handler(e, fronttest.By(t, e, "api"), weirhttp.AllowOrigins(origin))(ok)
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			h.ServeHTTP(w, r)
		}))
		resp, _ := get(t, s, "/", "Origin", origin)
		require.Equal(t, []string{"*"}, resp.Header.Values("Access-Control-Allow-Origin"))
	})
	t.Run("other origins", func(t *testing.T) {
		e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{{Name: "api", Kind: engine.Block}}})
		s := serve(t, weirhttp.Handler(e, fronttest.By(t, e, "api"), weirhttp.AllowOrigins(origin))(ok))
		resp, _ := get(t, s, "/", "Origin", "https://evil.example")
		require.NotContains(t, resp.Header, "Access-Control-Allow-Origin")
		// OPTIONS by itself is a request like any other.
		resp, _ = do(t, s, http.MethodOptions, "/")
		require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	})
}

func TestProbesAreNeverLimited(t *testing.T) {
	clock := fronttest.Still()
	e := fronttest.Engine(t, engine.Config{
		Clock: clock, MaxEntries: 1000,
		Limits: []engine.Limit{fronttest.Bucket("daily", 1000, 24*time.Hour, 1000)},
		Ladder: engine.Ladder{Signal: func() ladder.Reading { return ladder.Reading{Value: 2, OK: true} }},
	})
	h := weirhttp.Handler(e, fronttest.By(t, e, "daily"), weirhttp.Exempt("/healthz", "/readyz"))(ok)
	code := func(path string) int {
		w := httptest.NewRecorder()
		r := mustRequest(t)
		r.URL.Path = path
		h.ServeHTTP(w, r)
		return w.Code
	}
	for range 24 * 360 {
		clock.Advance(10 * time.Second)
		require.Equal(t, http.StatusOK, code("/healthz"))
	}
	s := e.Snapshot()
	require.Equal(t, 3.0, s.Ladder.Level, "everything but critical is shed")
	require.Zero(t, s.Admitted, "a probe is not even counted")
	require.Zero(t, s.Table.Entries)
	for _, path := range []string{"/healthz/../pay", "/healthz/", "//healthz", "/HEALTHZ"} {
		require.Equal(t, http.StatusServiceUnavailable, code(path), path)
	}
}

type exempting struct{ policy.Binder }

func (exempting) Exempt(a policy.Attrs) bool { return a.Route() == "GET /metrics" }

func TestABinderCanExempt(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{{Name: "api", Kind: engine.Block}}})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", ok)
	mux.Handle("GET /pay", ok)
	s := serve(t, weirhttp.Handler(e, exempting{fronttest.By(t, e, "api")}, weirhttp.Mux(mux))(mux))
	resp, _ := get(t, s, "/metrics")
	require.Equal(t, 200, resp.StatusCode)
	resp, _ = get(t, s, "/pay")
	require.Equal(t, 429, resp.StatusCode)
}

func TestNilBinderMeetsTheProcessWideLayers(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Gate: engine.Gate{Capacity: 1}})
	h := weirhttp.Handler(e, nil)
	var inner int
	h(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		second := httptest.NewRecorder()
		h(ok).ServeHTTP(second, r)
		inner = second.Code
	})).ServeHTTP(httptest.NewRecorder(), mustRequest(t))
	require.Equal(t, http.StatusServiceUnavailable, inner)
	require.Panics(t, func() { weirhttp.Handler(nil, nil) })
}

func TestOwnRefusal(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000, Limits: []engine.Limit{{Name: "banned", Kind: engine.Block}}})
	s := serve(t, weirhttp.Handler(e, fronttest.By(t, e, "banned"), weirhttp.RejectWith(
		func(w http.ResponseWriter, _ *http.Request, d engine.Decision) {
			http.Error(w, "no: "+e.LimitName(d.Limit), weirhttp.Status(d))
		}))(ok))
	resp, body := get(t, s, "/")
	require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
	require.Equal(t, "no: banned\n", body)
	require.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
}
