package ladder_test

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/ladder"
)

func TestTheGivenConfigurationsAreValid(t *testing.T) {
	require.NoError(t, ladder.Default().Validate())
	require.NoError(t, ladder.Flap().Validate())
	require.NoError(t, ladder.Default().Faster(40).Validate())
}

// The ends of a range belong to it: the kill switch is one of them.
func TestTheExtremesAreValid(t *testing.T) {
	low, high := ladder.Default(), ladder.Default()
	low.Max, low.HighCritical, low.Low, low.Forgive, low.ProbeWait = 0, 0, 0, 0, 0
	low.Smooth, low.Arm, low.Leak, low.Brake, low.BrakeSmooth, low.Hold, low.HoldMax, low.Watch = 0, 0, 0, 0, 0, 0, 0, 0
	low.Grace = 2 * low.Tick
	require.NoError(t, low.Validate())
	high.Max, high.StepUp, high.StepDown, high.Forgive = ladder.Tiers, ladder.Tiers, ladder.Tiers, 1
	high.Low, high.HoldMax, high.Ceiling = high.High, high.Hold, 64
	require.NoError(t, high.Validate())
}

// Every field rejects what cannot be, naming itself and the value.
func TestEveryFieldIsChecked(t *testing.T) {
	bad := map[reflect.Type][]any{
		reflect.TypeFor[float64]():       {math.NaN(), -0.5, math.Inf(-1)},
		reflect.TypeFor[time.Duration](): {-time.Second},
	}
	v := reflect.TypeFor[ladder.Config]()
	for i := range v.NumField() {
		name, typ := v.Field(i).Name, v.Field(i).Type
		elem := typ
		if typ.Kind() == reflect.Array {
			elem = typ.Elem()
		}
		for _, value := range bad[elem] {
			cfg := ladder.Default()
			field := reflect.ValueOf(&cfg).Elem().Field(i)
			if typ.Kind() == reflect.Array {
				name, field = v.Field(i).Name+"[2]", field.Index(2)
			}
			field.Set(reflect.ValueOf(value))
			require.ErrorContains(t, cfg.Validate(), "ladder: config: "+name+" ", "%s %v", name, value)
		}
		require.NotEmpty(t, bad[elem], "no bad value known for %s", name)
	}
}

func TestCombinationsAreChecked(t *testing.T) {
	for want, spoil := range map[string]func(c *ladder.Config){
		"Tick 0s: must be positive":                         func(c *ladder.Config) { c.Tick = 0 },
		"High 0: ":                                          func(c *ladder.Config) { c.High = 0 },
		"High +Inf: ":                                       func(c *ladder.Config) { c.High = math.Inf(1) },
		"Low 0.9: must not be above High (0.8)":             func(c *ladder.Config) { c.Low = 0.9 },
		"Width 0: ":                                         func(c *ladder.Config) { c.Width = 0 },
		"Ceiling 0.7: must be above High (0.8)":             func(c *ladder.Config) { c.Ceiling = 0.7 },
		"Leak 0: must be positive":                          func(c *ladder.Config) { c.Leak = 0 },
		"ShedRate[1] 0: must be positive":                   func(c *ladder.Config) { c.ShedRate[1] = 0 },
		"StepUp 5: ":                                        func(c *ladder.Config) { c.StepUp = 5 },
		"Max 4.5: must be from 0 to 4":                      func(c *ladder.Config) { c.Max = 4.5 },
		"HoldMax 10s: must not be below Hold (20s)":         func(c *ladder.Config) { c.HoldMax = 10 * time.Second },
		"Forgive 1.5: must be from 0 to 1":                  func(c *ladder.Config) { c.Forgive = 1.5 },
		"Grace 1s: must be at least two ticks (1s each)":    func(c *ladder.Config) { c.Grace = time.Second },
		"FailOpen 0s: must be positive":                     func(c *ladder.Config) { c.FailOpen = 0 },
		"Probe 0: must be a positive finite number":         func(c *ladder.Config) { c.Probe = 0 },
		"ProbeWait +Inf: must be a finite number of 0 or m": func(c *ladder.Config) { c.ProbeWait = math.Inf(1) },
	} {
		cfg := ladder.Default()
		spoil(&cfg)
		require.ErrorContains(t, cfg.Validate(), want)
	}
	many := ladder.Default()
	many.Tick, many.Max, many.Width = 0, math.NaN(), -1
	err := many.Validate()
	for _, field := range []string{"Tick 0s", "Max NaN", "Width -1"} {
		require.ErrorContains(t, err, field, "all at once")
	}
}

func TestFasterIsTheSameLawOnAFasterClock(t *testing.T) {
	slow, fast := newRig(ladder.Default()), newRig(ladder.Default().Faster(5))
	for i := range 400 {
		u := 0.6 + 0.7*float64(i/100%2)
		slow.feed(u)
		fast.feed(u)
		require.InDelta(t, slow.Level(), fast.Level(), 1e-6, "tick %d", i)
	}
}
