// Package fronttest is what the tests of the front doors share: engines, and a
// binder that claims by one header.
package fronttest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

// Engine returns an engine for a thousand keys, unless cfg says how many, that is
// closed with the test.
func Engine(t testing.TB, cfg engine.Config) *engine.Engine {
	t.Helper()
	if cfg.MaxEntries == 0 {
		cfg.MaxEntries = 1000
	}
	e, err := engine.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// Still is a clock that stands until a test moves it.
func Still() *engine.ManualClock {
	return engine.NewManualClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
}

// InFlight is a configuration of one limit, n at once, for a thousand keys.
func InFlight(name string, n int64) engine.Config {
	return engine.Config{Limits: []engine.Limit{{Name: name, Kind: engine.InFlight, Max: n}}, MaxEntries: 1000}
}

// Bucket is a token bucket.
func Bucket(name string, rate int64, per time.Duration, burst int64) engine.Limit {
	return engine.Limit{Name: name, Rate: rate, Per: per, Burst: burst}
}

// By claims one of each named limit for the value of the header X-Key, as a
// read.
func By(t testing.TB, e *engine.Engine, limits ...string) policy.Binder {
	t.Helper()
	var ids []engine.LimitID
	for _, name := range limits {
		id, ok := e.Limit(name)
		require.True(t, ok, name)
		ids = append(ids, id)
	}
	return policy.BinderFunc(func(a policy.Attrs, dst []engine.Claim) engine.Request {
		for _, id := range ids {
			dst = append(dst, id.Claim(e.Key(a.Header("X-Key"))))
		}
		return engine.Request{Class: engine.Read, Claims: dst}
	})
}

// Inside is how many requests hold a place of the limit now.
func Inside(t testing.TB, e *engine.Engine, limit string) int64 {
	t.Helper()
	for _, l := range e.Snapshot().Limits {
		if l.Name == limit {
			return l.InFlight
		}
	}
	require.FailNow(t, "no such limit", limit)
	return 0
}
