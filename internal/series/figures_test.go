package series_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/internal/series"
)

// number fills every number in v with another one, from 2 upwards, durations in
// seconds.
func number(v reflect.Value, next *int64) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case f.Type() == reflect.TypeFor[time.Duration]():
			f.SetInt(*next * int64(time.Second))
		case f.CanInt():
			f.SetInt(*next)
		case f.CanUint():
			f.SetUint(uint64(*next))
		case f.CanFloat():
			f.SetFloat(float64(*next))
		default:
			continue
		}
		*next++
	}
}

func TestFiguresReadEachItsOwnNumber(t *testing.T) {
	var s engine.Snapshot
	next := int64(2)
	for _, part := range []any{&s, &s.Gate, &s.Ladder, &s.Table, &s.Fleet} {
		number(reflect.ValueOf(part).Elem(), &next)
	}
	s.Fleet.On = true
	read := map[float64]string{}
	names := map[string]bool{}
	for _, f := range series.Figures {
		require.False(t, names[f.Prometheus] || names["otel "+f.OTel], f.Prometheus)
		names[f.Prometheus], names["otel "+f.OTel] = true, true
		require.Equal(t, f.Counter, strings.HasSuffix(f.Prometheus, "_total"), f.Prometheus)
		require.NotEmpty(t, f.Unit)
		require.True(t, strings.HasSuffix(f.About, "."), f.About)
		v, ok := f.Value(&s)
		require.True(t, ok, f.Prometheus)
		if f.Unit == "1" && v == 0 {
			continue // a flag that is down
		}
		require.Empty(t, read[v], f.Prometheus)
		read[v] = f.Prometheus
	}

	s.Fleet.On, s.Ladder.ReadingAge = false, -1
	for _, f := range series.Figures {
		_, ok := f.Value(&s)
		gone := strings.HasPrefix(f.Prometheus, "fleet_") || strings.HasPrefix(f.Prometheus, "ladder_reading")
		require.Equal(t, !gone, ok, f.Prometheus)
	}
	s.Fleet.On, s.Fleet.SyncAge, s.Fleet.LeaseValid = true, -1, true
	for _, f := range series.Figures {
		switch v, ok := f.Value(&s); f.Prometheus {
		case "fleet_sync_age_seconds":
			require.False(t, ok, "never in touch is no age")
		case "fleet_lease_valid":
			require.Equal(t, 1.0, v)
		}
	}
}
