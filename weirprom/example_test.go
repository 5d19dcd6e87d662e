package weirprom_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/weirprom"
)

func ExampleNewCollector() {
	e := engine.Must(engine.New(engine.Config{
		Limits: []engine.Limit{{Name: "login", Rate: 1, Per: time.Minute, Burst: 1}},
	}))
	defer e.Close()
	registry := prometheus.NewRegistry()
	registry.MustRegister(weirprom.NewCollector(e))

	login, _ := e.Limit("login")
	for range 3 {
		t := e.Admit(engine.Request{Class: engine.Write, Claims: []engine.Claim{login.Claim(e.Key("victim@example.org"))}})
		t.Done(engine.Success)
	}
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range strings.Split(w.Body.String(), "\n") {
		if strings.HasPrefix(line, "weir_decisions_total") && strings.Contains(line, `class="write"`) && !strings.HasSuffix(line, " 0") {
			fmt.Println(line)
		}
	}
	// Output:
	// weir_decisions_total{class="write",layer="none",limit="",reason="admitted"} 1
	// weir_decisions_total{class="write",layer="rate",limit="login",reason="limited"} 2
}
