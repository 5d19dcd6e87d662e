package weirhttp_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front/fronttest"
	"github.com/weir-go/weir/key"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirhttp"
)

func TestAttributesOfARequest(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000})
	proxies, err := key.ParseNetworks("127.0.0.1", "10.0.0.0/8")
	require.NoError(t, err)
	type seen struct{ Route, Method, Host, Key, Query, ID, Rest, Peer, Direct, Identity string }
	var got seen
	b := policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		got = seen{
			a.Route(), a.Method(), a.Header("host"), a.Header("x-key"), a.Query("q"), a.PathValue("id"), a.PathValue("rest"),
			a.Peer().String(), a.(policy.DirectPeer).DirectPeer().String(), a.Identity(),
		}
		require.NotNil(t, weirhttp.RequestOf(a))
		return engine.Request{Claims: dst}
	})
	opts := []weirhttp.Option{
		weirhttp.TrustedProxies(proxies),
		weirhttp.Identity(func(r *http.Request) string { return "user of " + r.Method }),
	}
	want := seen{
		Route: "GET /v1/{id}/x/{rest...}", Method: "GET", Key: "k", Query: "1 2", ID: "a/b", Rest: "c/d/e",
		Peer: "203.0.113.9", Direct: "127.0.0.1", Identity: "user of GET",
	}
	check := func(t *testing.T, h http.Handler) {
		s := serve(t, h)
		want.Host = strings.TrimPrefix(s.URL, "http://")
		resp, _ := get(t, s, "/v1/a%2Fb/x/c/d%2Fe?q=1+2&q=3", "X-Key", "k", "X-Forwarded-For", "6.6.6.6, 203.0.113.9, 10.1.1.1")
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, want, got)
	}
	t.Run("around the mux", func(t *testing.T) {
		mux := http.NewServeMux()
		mux.Handle("GET /v1/{id}/x/{rest...}", ok)
		check(t, weirhttp.Handler(e, b, append(opts, weirhttp.Mux(mux))...)(mux))
	})
	t.Run("inside the mux", func(t *testing.T) {
		mux := http.NewServeMux()
		mux.Handle("GET /v1/{id}/x/{rest...}", weirhttp.Handler(e, b, opts...)(ok))
		check(t, mux)
	})
}

// behind is a Binder that knows the proxies.
type behind struct {
	policy.Binder
	key.Networks
}

func TestABinderCanNameTheProxies(t *testing.T) {
	e := fronttest.Engine(t, engine.Config{MaxEntries: 1000})
	proxies, err := key.ParseNetworks("::1", "127.0.0.1")
	require.NoError(t, err)
	var got []string
	b := behind{policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		got = append(got, a.Peer().String())
		return engine.Request{Claims: dst}
	}), proxies}
	own := weirhttp.ClientAddress(func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") })
	for _, opts := range [][]weirhttp.Option{nil, {own}} {
		h := weirhttp.Handler(e, b, opts...)(ok)
		for _, peer := range []string{"[0:0:0:0:0:0:0:1]:99", "[::ffff:127.0.0.1]:99", "9.9.9.9:99", "@"} {
			r := mustRequest(t)
			r.RemoteAddr = peer
			r.Header.Set("X-Forwarded-For", "203.0.113.9")
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	require.Equal(t, []string{
		"203.0.113.9", "203.0.113.9", "9.9.9.9", "invalid IP", // a socket has no address
		"192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.1",
	}, got)
}
