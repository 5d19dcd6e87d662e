// Command api is an authenticated API with plans: a rate per API key by plan,
// and a bound on what one tenant has in flight. Run it in its directory:
//
//	go run . &
//	curl -i -H 'Authorization: Bearer sk_live_acme' http://127.0.0.1:8080/v1/charges
package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/weir-go/weir/examples/internal/app"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirhttp"
)

// account is whose API key it is. A real service has them in a database.
type account struct{ tenant, plan string }

var accounts = map[string]account{
	"sk_live_acme":   {"acme", "enterprise"},
	"sk_test_acme":   {"acme", "enterprise"},
	"sk_live_bob":    {"bob", "free"},
	"sk_test_bob":    {"bob", "free"},
	"sk_live_carol":  {"carol", "pro"},
	"sk_live_carol2": {"carol", "pro"},
}

func main() { service(func() {}).Main() }

// service is the example without its policy; work is what a request does.
func service(work func()) app.Service {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/charges", func(w http.ResponseWriter, r *http.Request) {
		if caller(r) == (account{}) {
			http.Error(w, "unknown API key", http.StatusUnauthorized)
			return
		}
		work()
		fmt.Fprintln(w, "charged", caller(r).tenant)
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	return app.Service{
		Mux: mux,
		Policy: []policy.Option{
			policy.Extract("plan", func(a policy.Attrs) string { return caller(weirhttp.RequestOf(a)).plan }),
			policy.Extract("tenant", func(a policy.Attrs) string { return caller(weirhttp.RequestOf(a)).tenant }),
		},
		// The identity is the key that the service has verified, so a made-up key
		// is no identity and counts against the address it comes from.
		Door: []weirhttp.Option{weirhttp.Identity(func(r *http.Request) string {
			if caller(r) == (account{}) {
				return ""
			}
			return credential(r)
		})},
		Outside: authenticate,
	}
}

// authenticate verifies the API key once, outside the limits.
func authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := accounts[credential(r)]
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, who)))
	})
}

type callerKey struct{}

// caller is who authenticate found; the zero account is nobody.
func caller(r *http.Request) account {
	who, _ := r.Context().Value(callerKey{}).(account)
	return who
}

func credential(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}
