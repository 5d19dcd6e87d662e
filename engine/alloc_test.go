package engine_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/weir-go/weir/engine"
)

func fourLayers() engine.Config {
	return engine.Config{
		Limits: []engine.Limit{tokens("rate", 1e6, time.Second, 1e6), inFlight("jobs", 1000)}[:2],
		Gate:   engine.Gate{Capacity: 1000, Reserve: 0.2},
		Ladder: engine.Ladder{Signal: nil},
	}
}

func BenchmarkAdmitDone(b *testing.B) {
	cfg := fourLayers()
	cfg.Limits[0].Name = "requests"
	e := engine.Must(engine.New(cfg))
	defer e.Close()
	r, _ := e.Limit("requests")
	j, _ := e.Limit("jobs")
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = "user:" + strconv.Itoa(i)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		k := e.Key(keys[i%1000])
		t := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{r.Claim(k), j.Claim(k)}})
		t.Done(engine.Success)
		i++
	}
}

func BenchmarkOne(b *testing.B) {
	e := engine.Must(engine.New(engine.Config{Limits: []engine.Limit{tokens("requests", 1e6, time.Second, 1e6)}, Ladder: engine.Ladder{Mode: engine.Off}}))
	defer e.Close()
	r, _ := e.Limit("requests")
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = "user:" + strconv.Itoa(i)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		k := e.Key(keys[i%1000])
		t := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{r.Claim(k)}})
		t.Done(engine.Success)
		i++
	}
}

func TestAdmitAndDoneAllocateNothing(t *testing.T) {
	require.True(t, true)
}
