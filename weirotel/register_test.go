package weirotel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/weirotel"
)

func newEngine(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.New(engine.Config{
		Clock: engine.NewManualClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), MaxEntries: 1 << 16,
		Limits: []engine.Limit{
			{Name: "api", Rate: 1, Per: time.Hour, Burst: 2},
			{Name: "jobs", Kind: engine.InFlight, Max: 1},
			{Name: "llm", Rate: 10, Per: time.Second, Burst: 100, PostPaid: true},
		},
		Gate: engine.Gate{Capacity: 10, Reserve: 0.2},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// points flattens what a reader collects: "name{attributes}" to its value.
func points(t *testing.T, r *sdk.ManualReader) map[string]float64 {
	t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(t, r.Collect(t.Context(), &rm))
	all := map[string]float64{}
	put := func(name string, at attribute.Set, v float64) {
		id := name + "{" + at.Encoded(attribute.DefaultEncoder()) + "}"
		require.NotContains(t, all, id)
		all[id] = v
	}
	for _, s := range rm.ScopeMetrics {
		for _, m := range s.Metrics {
			require.NotEmpty(t, m.Description, m.Name)
			require.NotEmpty(t, m.Unit, m.Name)
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				require.True(t, d.IsMonotonic)
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Sum[float64]:
				require.True(t, d.IsMonotonic)
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, float64(p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, p.Value)
				}
			default:
				require.Fail(t, "unexpected data", "%T", d)
			}
		}
	}
	return all
}

func TestInstrumentsSayWhatHappened(t *testing.T) {
	e := newEngine(t)
	reader := sdk.NewManualReader()
	registration, err := weirotel.Register(sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test"), e)
	require.NoError(t, err)

	api, _ := e.Limit("api")
	jobs, _ := e.Limit("jobs")
	llm, _ := e.Limit("llm")
	k := e.Key("a")
	for range 3 {
		ticket := e.Admit(engine.Request{Class: engine.Write, Claims: []engine.Claim{api.Claim(k)}})
		ticket.Done(engine.Success)
	}
	held := e.Admit(engine.Request{Class: engine.Critical, Claims: []engine.Claim{jobs.Claim(k), llm.ClaimN(k, 7)}})

	got := points(t, reader)
	for id, want := range map[string]float64{
		"weir.decisions{weir.class=write,weir.layer=none,weir.limit=,weir.reason=admitted}":     2,
		"weir.decisions{weir.class=critical,weir.layer=none,weir.limit=,weir.reason=admitted}":  1,
		"weir.decisions{weir.class=write,weir.layer=rate,weir.limit=api,weir.reason=limited}":   1,
		"weir.would_refuse{weir.class=read,weir.layer=rate,weir.limit=api,weir.reason=limited}": 0,
		"weir.inflight.usage{weir.class=,weir.layer=concurrency,weir.limit=jobs}":               1,
		"weir.inflight.usage{weir.class=critical,weir.layer=fleet,weir.limit=}":                 1,
		"weir.held.usage{weir.limit=llm}":                                                       7,
		"weir.mode.enforced{weir.layer=rate,weir.limit=api}":                                    1,
		"weir.misuse{weir.misuse.kind=double_done}":                                             0,
		"weir.inflight.allocation{}":                                                            8,
		"weir.entries.limit{}":                                                                  1 << 16,
		"weir.unguarded{}":                                                                      0,
	} {
		require.Contains(t, got, id)
		require.Equal(t, want, got[id], id)
	}
	require.NotContains(t, got, "weir.fleet.instances{}", "no limit is shared")

	held.Done(engine.Success)
	require.Zero(t, points(t, reader)["weir.inflight.usage{weir.class=,weir.layer=concurrency,weir.limit=jobs}"])
	require.NoError(t, registration.Unregister())
	require.Empty(t, points(t, reader))
}

func TestClientsCannotAddSeries(t *testing.T) {
	e := newEngine(t)
	reader := sdk.NewManualReader()
	_, err := weirotel.Register(sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test"), e)
	require.NoError(t, err)
	before := len(points(t, reader))
	api, _ := e.Limit("api")
	for i := range 10_000 {
		ticket := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{api.Claim(e.Key(fmt.Sprint(i)))}})
		ticket.Done(engine.Success)
	}
	require.Len(t, points(t, reader), before)
}
