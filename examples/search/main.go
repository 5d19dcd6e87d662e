// Command search is an anonymous search endpoint behind a limit per client
// network. Run it in its directory:
//
//	go run . &
//	curl -i 'http://127.0.0.1:8080/search?q=weir'
package main

import (
	"fmt"
	"net/http"

	"github.com/weir-go/weir/examples/internal/app"
)

func main() { service().Main() }

// service is the example without its policy.
func service() app.Service {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /search", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "results for %q\n", r.FormValue("q"))
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	return app.Service{Mux: mux}
}
