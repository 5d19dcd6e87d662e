package weirhttp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirhttp"
)

// Two requests a minute for each API key, around a whole mux.
func ExampleHandler() {
	e := engine.Must(engine.New(engine.Config{
		Limits: []engine.Limit{{Name: "api", Rate: 2, Per: time.Minute, Burst: 2}},
	}))
	defer e.Close()
	api, _ := e.Limit("api")
	binder := policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		return engine.Request{
			Class:  engine.Read,
			Claims: append(dst, api.Claim(e.Key(a.Header("X-Api-Key")))),
		}
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/charges", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "charges") })
	guarded := weirhttp.Handler(e, binder, weirhttp.Mux(mux), weirhttp.Exempt("/healthz"))(mux)

	for range 3 {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/v1/charges", nil)
		r.Header.Set("X-Api-Key", "k1")
		guarded.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Retry-After"), w.Body)
	}
	// Output:
	// 200  charges
	// 200  charges
	// 429 30 {"title":"Too Many Requests","status":429,"detail":"The caller has used up this limit.","reason":"limited","layer":"rate","limit":"api"}
}

// The slot of a job that outlives its response ends with the job.
func ExampleDetach() {
	e := engine.Must(engine.New(engine.Config{
		Limits: []engine.Limit{{Name: "jobs", Kind: engine.InFlight, Max: 1}},
	}))
	defer e.Close()
	jobs, _ := e.Limit("jobs")
	binder := policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		return engine.Request{Class: engine.Write, Claims: append(dst, jobs.Claim(e.Key("tenant")))}
	})
	finish, finished := make(chan struct{}), make(chan struct{})
	h := weirhttp.Handler(e, binder)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		work := weirhttp.Detach(r.Context())
		go func() {
			defer close(finished)
			defer work.Done(engine.Success)
			<-finish
		}()
		w.WriteHeader(http.StatusAccepted)
	}))
	post := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/jobs", nil))
		return w.Code
	}
	fmt.Println(post(), post())
	close(finish)
	<-finished
	fmt.Println(e.Snapshot().Limits[0].InFlight)
	// Output:
	// 202 429
	// 0
}

// A client that never has more than one request to its dependency in flight.
func ExampleTransport() {
	dependency := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer dependency.Close()
	e := engine.Must(engine.New(engine.Config{
		Limits: []engine.Limit{{Name: "partner", Kind: engine.InFlight, Max: 1}},
	}))
	defer e.Close()
	partner, _ := e.Limit("partner")
	client := http.Client{Transport: &weirhttp.Transport{
		Engine: e,
		Binder: policy.BinderFunc(func(_ policy.Attrs, dst []engine.Claim) engine.Request {
			return engine.Request{Class: engine.Read, Claims: append(dst, partner.Claim(e.Key("partner")))}
		}),
	}}

	first, err := client.Get(dependency.URL)
	fmt.Println(first.StatusCode, err)
	_, err = client.Get(dependency.URL)
	var rejected *weirhttp.RejectedError
	fmt.Println(errors.As(err, &rejected), rejected.Limit, rejected.RetryAfter)
	first.Body.Close() // gives the place back
	second, err := client.Get(dependency.URL)
	fmt.Println(second.StatusCode, err)
	second.Body.Close()
	// Output:
	// 200 <nil>
	// true partner 1s
	// 200 <nil>
}

// Modes are changed by those who know the password, and by nobody else.
func ExampleAdminControl() {
	e := engine.Must(engine.New(engine.Config{
		Limits: []engine.Limit{{Name: "api", Rate: 2, Per: time.Minute, Burst: 2, Mode: engine.Shadow}},
	}))
	defer e.Close()
	password := func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, p, ok := r.BasicAuth(); !ok || p != "open sesame" {
				w.Header().Set("WWW-Authenticate", `Basic realm="weir"`)
				http.Error(w, "who are you?", http.StatusUnauthorized)
				return
			}
			h.ServeHTTP(w, r)
		})
	}
	admin, err := weirhttp.AdminControl(e, password)
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux() // one that the public cannot reach
	mux.Handle("/debug/weir/", http.StripPrefix("/debug/weir", admin))
	s := httptest.NewServer(mux)
	defer s.Close()

	r, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, s.URL+"/debug/weir/mode", nil)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	fmt.Println(resp.StatusCode, e.Snapshot().Modes["api"])
	// Output: 401 shadow
}
