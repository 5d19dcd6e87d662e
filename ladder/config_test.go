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

// These are the constants that the simulations of docs/ladder.md were run with,
// and that page names them: whoever changes one runs them again.
func TestTheConstantsAreThoseOfTheSimulations(t *testing.T) {
	law := ladder.Config{
		Tick: time.Second, High: 0.80, HighCritical: 0.95, Low: 0.75, Width: 0.20, ErrUp: 3, ErrDown: 2, Ceiling: 1.6,
		Smooth: 5 * time.Second, Arm: 5 * time.Second, Leak: 0.5,
		ShedRate:    [ladder.Tiers]float64{0.1, 0.05, 0.04, 0.0125},
		RestoreRate: [ladder.Tiers]float64{1. / 90, 1. / 90, 1. / 90, 1. / 45},
		StepUp:      0.35, StepDown: 0.10, Max: 3,
		Brake: 10 * time.Second, BrakeSmooth: 2 * time.Second,
		Hold: 20 * time.Second, HoldMax: 5 * time.Minute, Watch: time.Minute,
		Forgive: 0.5, Probe: 0.1, ProbeWait: 2, Grace: 30 * time.Second, FailOpen: 2 * time.Minute,
	}
	require.Equal(t, law, ladder.Default())

	inf := math.Inf(1)
	law.Low, law.HighCritical, law.Width, law.ErrUp, law.ErrDown = 0.80, 0.80, 0.001, 1, 1
	law.Smooth, law.Arm, law.Brake, law.Hold, law.HoldMax = 0, 0, 0, 0, 0
	law.ShedRate, law.RestoreRate = [ladder.Tiers]float64{inf, inf, inf, inf}, [ladder.Tiers]float64{inf, inf, inf, inf}
	law.StepUp, law.StepDown, law.Probe = 1, 1, 1
	require.Equal(t, law, ladder.Flap(), "no damper is left in")
}

// The ends of a range belong to it: the kill switch is one of them.
func TestTheExtremesAreValid(t *testing.T) {
	low, high := ladder.Default(), ladder.Default()
	low.Max, low.HighCritical, low.Low, low.Forgive, low.ProbeWait = 0, 0, 0, 0, 0
	low.Smooth, low.Arm, low.Leak, low.Brake, low.BrakeSmooth, low.Hold, low.HoldMax, low.Watch = 0, 0, 0, 0, 0, 0, 0, 0
	low.Tick, low.Grace, low.FailOpen = 1, 2, 1
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
		"Ceiling 64.5: must be from":                        func(c *ladder.Config) { c.Ceiling = 64.5 },
		"Smooth -1s: must not be negative":                  func(c *ladder.Config) { c.Smooth = -time.Second },
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
