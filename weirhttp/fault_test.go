package weirhttp_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/front/fronttest"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirhttp"
)

func TestAFaultBeforeTheHandlerLetsTheRequestPass(t *testing.T) {
	e := fronttest.Engine(t, fronttest.InFlight("jobs", 1))
	boom := policy.BinderFunc(func(policy.Attrs, []engine.Claim) engine.Request { panic("a bug in an extractor") })
	asks := policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		a.Route()
		a.Peer()
		a.Identity()
		return fronttest.By(t, e, "jobs").Bind(a, dst)
	})
	fault := func(*http.Request) string { panic("a bug in an option") }
	for name, guard := range map[string]func(...weirhttp.Option) func(http.Handler) http.Handler{
		"binder": func(o ...weirhttp.Option) func(http.Handler) http.Handler { return weirhttp.Handler(e, boom, o...) },
		"route": func(o ...weirhttp.Option) func(http.Handler) http.Handler {
			return weirhttp.Handler(e, asks, append(o, weirhttp.Route(fault))...)
		},
		"identity": func(o ...weirhttp.Option) func(http.Handler) http.Handler {
			return weirhttp.Handler(e, asks, append(o, weirhttp.Identity(fault))...)
		},
		"address": func(o ...weirhttp.Option) func(http.Handler) http.Handler {
			return weirhttp.Handler(e, asks, append(o, weirhttp.ClientAddress(func(*http.Request) netip.Addr { panic("bug") }))...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var logged bytes.Buffer
			s := serve(t, guard(weirhttp.Logger(slog.New(slog.NewTextHandler(&logged, nil))))(ok))
			for range 100 {
				resp, body := get(t, s, "/")
				require.Equal(t, http.StatusOK, resp.StatusCode)
				require.Equal(t, "ok", body)
			}
			require.Zero(t, fronttest.Inside(t, e, "jobs"))
			require.Contains(t, logged.String(), "bug")
			require.Less(t, strings.Count(logged.String(), "level=ERROR"), 100, "a flood of faults is no flood of logs")
		})
	}
}
