// Command passwordreset is a password reset form behind two limits: by the
// account that is asked for, and by the network that asks. Run it in its
// directory:
//
//	go run . &
//	curl -i -d '{"email":"a@x.org"}' http://127.0.0.1:8080/password-reset
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/weir-go/weir/examples/internal/app"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirhttp"
)

func main() { service().Main() }

// service is the example without its policy.
func service() app.Service {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /password-reset", func(w http.ResponseWriter, r *http.Request) {
		if email(r) == "" {
			http.Error(w, "no email", http.StatusBadRequest)
			return
		}
		fmt.Fprintln(w, "if there is such an account, a mail is on its way")
	})
	return app.Service{
		Mux: mux,
		Policy: []policy.Option{
			policy.Extract("email", func(a policy.Attrs) string { return email(weirhttp.RequestOf(a)) }),
		},
		Outside: readEmail,
	}
}

// maxBody is far more than an address takes.
const maxBody = 4 << 10

// readEmail reads the body once, outside the limits, for the key and for the
// handler.
func readEmail(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var form struct{ Email string }
		// What is no form has no address; that is for the handler to say.
		_ = json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&form)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), emailKey{}, form.Email)))
	})
}

type emailKey struct{}

// email is the address in the body; "" when there is none.
func email(r *http.Request) string {
	s, _ := r.Context().Value(emailKey{}).(string)
	return s
}
