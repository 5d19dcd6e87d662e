package target_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirhttp"
)

func TestHTTPTellsTheEndsApart(t *testing.T) {
	limited := engine.Must(engine.New(engine.Config{Limits: []engine.Limit{{Name: "shut", Kind: engine.Block}}}))
	defer limited.Close()
	shut, _ := limited.Limit("shut")
	mux := http.NewServeMux()
	mux.Handle("/limited", weirhttp.Handler(limited, policy.BinderFunc(func(_ policy.Attrs, dst []engine.Claim) engine.Request {
		return engine.Request{Claims: append(dst, shut.Claim(limited.Key("k")))}
	}))(http.NotFoundHandler()))
	mux.HandleFunc("/ok", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != "b" || r.Header.Get("Request-Id") != "7" || r.Header.Get("X-User") != "ann" || r.Header.Get("Authorization") != "Bearer t" || r.Host != "shop.example" {
			w.WriteHeader(http.StatusBadRequest)
		}
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/nowhere", http.StatusFound) })
	mux.HandleFunc("/busy", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does the server see its client leave
		<-r.Context().Done()
	})
	mux.HandleFunc("/abort", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	h, err := target.NewHTTP(srv.URL+"/", target.HTTPOptions{Timeout: 5 * time.Second, Header: http.Header{"X-User": {"{user}"}, "Host": {"shop.example"}}})
	require.NoError(t, err)
	defer h.Close()
	for path, want := range map[string]target.Result{
		"/ok":      {End: target.Served, Status: 200},
		"/moved":   {End: target.Served, Status: 302},
		"/missing": {End: target.Failed, Status: 404},
		"/busy":    {End: target.Refused, Status: 503},
		"/limited": {End: target.Refused, Status: 429, Layer: "rate", Limit: "shut"},
		"/slow":    {End: target.TimedOut},
		"/abort":   {End: target.Failed, Err: "connection lost"},
	} {
		r := &target.Request{Method: "POST", Path: path, Body: "b", ID: "7", User: "ann", Token: "t"}
		if path == "/slow" {
			r.Timeout = 20 * time.Millisecond
		}
		require.Equal(t, want, h.Do(t.Context(), r), path)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	require.Equal(t, target.Result{End: target.Stopped}, h.Do(stopped, &target.Request{Method: "GET", Path: "/slow"}))

	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	gone, err := target.NewHTTP("http://"+l.Addr().String(), target.HTTPOptions{Timeout: time.Second})
	require.NoError(t, err)
	require.Equal(t, target.Result{End: target.Failed, Err: "connection refused"}, gone.Do(t.Context(), &target.Request{Method: "GET", Path: "/"}))
}

func TestBadAddressesAreErrors(t *testing.T) {
	for _, u := range []string{"", "shop", "ftp://x", "http://", "http://a b", "://"} {
		_, err := target.NewHTTP(u, target.HTTPOptions{})
		require.ErrorContains(t, err, "target: url", u)
	}
}

func TestAttrsAreTheRequests(t *testing.T) {
	a := target.Attrs{R: &target.Request{Method: "GET", Path: "/v1/charges?limit=5&x=%zz", User: "10.0.0.7", Token: "sk"}}
	require.Equal(t, "/v1/charges", a.Route())
	require.Equal(t, "GET", a.Method())
	require.Equal(t, "5", a.Query("limit"))
	require.Empty(t, a.Query("none"))
	require.Equal(t, "Bearer sk", a.Header("authorization"))
	require.Empty(t, a.Header("Cookie"))
	require.Equal(t, "10.0.0.7", a.Peer().String())
	require.Equal(t, "10.0.0.7", a.Identity())
	require.False(t, target.Attrs{R: &target.Request{User: "ann"}}.Peer().IsValid())
	require.Equal(t, "a-ann-{other}", target.ForUser("a-{user}-{other}", "ann"))
}

func TestEngineAnswersAsADoorWould(t *testing.T) {
	e := engine.Must(engine.New(engine.Config{Limits: []engine.Limit{{Name: "l", Rate: 1, Per: time.Hour, Burst: 1}}}))
	defer e.Close()
	id, _ := e.Limit("l")
	to := target.NewEngine(e, policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		return engine.Request{Claims: append(dst, id.Claim(e.Key(a.Identity())))}
	}))
	r := &target.Request{User: "ann"}
	require.Equal(t, target.Result{End: target.Served, Status: 200}, to.Do(t.Context(), r))
	require.Equal(t, target.Result{End: target.Refused, Status: 429, Layer: "rate", Limit: "l"}, to.Do(t.Context(), r))
}
