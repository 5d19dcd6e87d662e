// Command sms sends messages under a daily cap on what a tenant spends on one
// country. Run it in its directory:
//
//	go run . &
//	curl -i -H 'Authorization: acme' 'http://127.0.0.1:8080/sms/send?to=%2B4930123' -X POST
package main

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/weir-go/weir/examples/internal/app"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirhttp"
)

// prices are in cents a message, by the country's dialling code.
var prices = map[string]int64{"1": 1, "44": 4, "49": 7, "882": 250}

// dearest is what a message costs to a country without a price.
const dearest = 250

func main() { service().Main() }

// service is the example without its policy.
func service() app.Service {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sms/send", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "sent to", r.FormValue("to"))
	})
	return app.Service{
		Mux: mux,
		Policy: []policy.Option{
			policy.Extract("country", func(a policy.Attrs) string { return country(a.Query("to")) }),
			policy.ExtractCost("price", func(a policy.Attrs) int64 {
				if cents, ok := prices[country(a.Query("to"))]; ok {
					return cents
				}
				return dearest
			}),
		},
		// Stands for what authenticates a tenant.
		Door: []weirhttp.Option{weirhttp.Identity(func(r *http.Request) string { return r.Header.Get("Authorization") })},
	}
}

// country is the dialling code of a number such as +4930123; "other" for one
// without a price, so that such numbers share one cap, and "" for no number.
func country(to string) string {
	digits, ok := strings.CutPrefix(to, "+")
	if !ok {
		return ""
	}
	for n := min(3, len(digits)); n > 0; n-- {
		if _, ok := prices[digits[:n]]; ok {
			return digits[:n]
		}
	}
	return "other"
}
