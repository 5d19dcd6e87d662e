package plant

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/weir-go/weir/ladder"
)

//go:embed scenarios.jsonl
var scenariosJSONL []byte

// classes are the tiers' names in a scenario, from the bottom.
var classes = [ladder.Tiers]string{"test", "get", "post", "critical"}

// Critical is the top one.
const Critical = ladder.Tiers - 1

// Scenario is a service and what happens to it. Its JSON is the format of
// scenarios.jsonl; times are from the start of the run.
type Scenario struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	DurationS   float64    `json:"duration_s"`
	IncidentS   [2]float64 `json:"incident_s"` // begin and end; figures count from the beginning

	Workers         int     `json:"workers"`
	ServiceMeanMS   float64 `json:"service_mean_ms"` // exponential
	QueueCap        int     `json:"queue_cap"`       // more waiting than this are turned away
	QueueDeadlineMS float64 `json:"queue_deadline_ms"`
	SLOMS           float64 `json:"slo_ms"` // an answer later than this after the first attempt is none

	BaseRPS      map[string]float64 `json:"base_rps"`
	LoadAll      Curve              `json:"load_all,omitzero"`
	Load         map[string]Curve   `json:"load,omitempty"`
	ServiceMult  Curve              `json:"service_mult,omitzero"`
	CapacityMult Curve              `json:"capacity_mult,omitzero"`

	Retry       *Retry       `json:"retry,omitempty"`
	ColdRestore *ColdRestore `json:"cold_restore,omitempty"`
	Keys        Keys         `json:"keys"`
	Sensor      Sensor       `json:"sensor"`
	TickMS      float64      `json:"tick_ms"`
}

// Retry is what clients do after a refusal (OnShed) or a timeout or full queue
// (OnTimeout): come back up to MaxRetries times after
// min(Cap, Base*Factor^n)*(1 - Jitter*U).
type Retry struct {
	MaxRetries int     `json:"max_retries"`
	BaseMS     float64 `json:"base_ms"`
	Factor     float64 `json:"factor"`
	CapMS      float64 `json:"cap_ms"`
	Jitter     float64 `json:"jitter"`
	OnShed     bool    `json:"on_shed"`
	OnTimeout  bool    `json:"on_timeout"`
}

// ColdRestore makes a requester that was shed dearer when it comes back: its
// service takes 1 + (Mult-1)*exp(-since/Tau) times as long.
type ColdRestore struct {
	Mult float64 `json:"mult"`
	TauS float64 `json:"tau_s"`
}

// Keys are the requesters of each class: Count of them, drawn evenly or, with
// ZipfS, in proportion to 1/rank^s. Mode "hash" places a requester in its tier
// by its hash, "coin" anew for every attempt.
type Keys struct {
	Mode  string  `json:"mode"`
	Count int     `json:"count"`
	ZipfS float64 `json:"zipf_s"`
}

// Sensor is the load signal. Kind "standing" is ladder.Standing over the pool,
// "inflight" the mean of requests in flight per worker, "busy" the mean share of
// busy workers. Samples are taken every 100 ms, or with Instant once a tick.
// A reading arrives DelayMS after it was taken, with noise added to it.
type Sensor struct {
	Kind    string  `json:"kind"`
	DelayMS float64 `json:"delay_ms"`
	NoiseSD float64 `json:"noise_sd"`
	Instant bool    `json:"instant"`
}

// Scenarios returns the nine published scenarios, in order.
func Scenarios() []Scenario {
	var all []Scenario
	for line := range bytes.Lines(scenariosJSONL) {
		s, err := Parse(bytes.NewReader(line))
		if err != nil {
			panic("plant: embedded scenario: " + err.Error())
		}
		all = append(all, s)
	}
	return all
}

// Find returns the published scenario of a name ("S5_retrystorm") or of what
// stands before its underscore ("S5").
func Find(name string) (Scenario, bool) {
	for _, s := range Scenarios() {
		if short, _, _ := strings.Cut(s.Name, "_"); name == s.Name || strings.EqualFold(name, short) {
			return s, true
		}
	}
	return Scenario{}, false
}

// Parse reads one scenario from JSON, strictly, and checks it.
func Parse(r io.Reader) (Scenario, error) {
	var s Scenario
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return Scenario{}, fmt.Errorf("plant: scenario: %w", err)
	}
	if err := s.Validate(); err != nil {
		return Scenario{}, err
	}
	return s, nil
}

// Validate returns everything that is wrong with the scenario.
func (s Scenario) Validate() error {
	var errs []error
	need := func(field string, v float64, ok bool, what string) {
		if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
			errs = append(errs, fmt.Errorf("plant: scenario %q: %s %v: %s", s.Name, field, v, what))
		}
	}
	need("duration_s", s.DurationS, s.DurationS > 0 && s.DurationS <= 1e5, "must be above 0 and at most 100000")
	need("incident_s[0]", s.IncidentS[0], s.IncidentS[0] >= 0 && s.IncidentS[0] < s.DurationS, "must lie within the run")
	need("incident_s[1]", s.IncidentS[1], s.IncidentS[1] >= s.IncidentS[0] && s.IncidentS[1] <= s.DurationS, "must lie within the run, after the beginning")
	need("workers", float64(s.Workers), s.Workers > 0 && s.Workers <= 1e5, "must be from 1 to 100000")
	need("service_mean_ms", s.ServiceMeanMS, s.ServiceMeanMS > 0, "must be positive")
	need("queue_cap", float64(s.QueueCap), s.QueueCap >= 0, "must not be negative")
	need("queue_deadline_ms", s.QueueDeadlineMS, s.QueueDeadlineMS > 0, "must be positive")
	need("slo_ms", s.SLOMS, s.SLOMS > 0, "must be positive")
	need("tick_ms", s.TickMS, s.TickMS >= 100, "must be 100 or more")
	need("keys.count", float64(s.Keys.Count), s.Keys.Count > 0 && s.Keys.Count <= 1e7, "must be from 1 to 10000000")
	need("keys.zipf_s", s.Keys.ZipfS, s.Keys.ZipfS >= 0, "must not be negative")
	need("sensor.delay_ms", s.Sensor.DelayMS, s.Sensor.DelayMS >= 0, "must not be negative")
	need("sensor.noise_sd", s.Sensor.NoiseSD, s.Sensor.NoiseSD >= 0, "must not be negative")
	if !slices.Contains([]string{"hash", "coin"}, s.Keys.Mode) {
		errs = append(errs, fmt.Errorf("plant: scenario %q: keys.mode %q: must be hash or coin", s.Name, s.Keys.Mode))
	}
	if !slices.Contains([]string{"standing", "inflight", "busy"}, s.Sensor.Kind) {
		errs = append(errs, fmt.Errorf("plant: scenario %q: sensor.kind %q: must be standing, inflight or busy", s.Name, s.Sensor.Kind))
	}
	for c, rps := range s.BaseRPS {
		need("base_rps."+c, rps, rps >= 0 && slices.Contains(classes[:], c), "must not be negative, of one of test, get, post, critical")
	}
	for c, curve := range s.Load {
		need("load."+c, 0, slices.Contains(classes[:], c), "must be of one of test, get, post, critical")
		need("load."+c, curve.least(), curve.valid(0), "must rise in time and never be negative")
	}
	need("load_all", s.LoadAll.least(), s.LoadAll.valid(0), "must rise in time and never be negative")
	need("service_mult", s.ServiceMult.least(), s.ServiceMult.valid(1e-6), "must rise in time and be positive")
	need("capacity_mult", s.CapacityMult.least(), s.CapacityMult.valid(0), "must rise in time and never be negative")
	if peak := s.peakRPS(); !(peak > 0 && peak <= 1e6) {
		errs = append(errs, fmt.Errorf("plant: scenario %q: offered load peaks at %v rps: must be above 0 and at most 1000000", s.Name, peak))
	}
	if r := s.Retry; r != nil {
		need("retry.max_retries", float64(r.MaxRetries), r.MaxRetries >= 0 && r.MaxRetries <= 100, "must be from 0 to 100")
		need("retry.base_ms", r.BaseMS, r.BaseMS >= 0, "must not be negative")
		need("retry.factor", r.Factor, r.Factor >= 0, "must not be negative")
		need("retry.cap_ms", r.CapMS, r.CapMS >= 0, "must not be negative")
		need("retry.jitter", r.Jitter, r.Jitter >= 0 && r.Jitter <= 1, "must be from 0 to 1")
	}
	if c := s.ColdRestore; c != nil {
		need("cold_restore.mult", c.Mult, c.Mult >= 0, "must not be negative")
		need("cold_restore.tau_s", c.TauS, c.TauS > 0, "must be positive")
	}
	return errors.Join(errs...)
}

// rate is the offered load of a class at t, per second.
func (s *Scenario) rate(class int, t float64) float64 {
	r := s.BaseRPS[classes[class]] * s.LoadAll.At(t)
	if c, ok := s.Load[classes[class]]; ok {
		r *= c.At(t)
	}
	return r
}

// peakRPS bounds the offered load of all classes at any time.
func (s *Scenario) peakRPS() float64 {
	sum := 0.0
	for _, c := range classes {
		r := s.BaseRPS[c] * s.LoadAll.peak()
		if l, ok := s.Load[c]; ok {
			r *= l.peak()
		}
		sum += r
	}
	return sum
}

// Slots is how many workers live at t.
func (s *Scenario) Slots(t float64) int {
	return int(math.Round(float64(s.Workers) * s.CapacityMult.At(t)))
}

// capacity is what the pool can serve at t, per second.
func (s *Scenario) capacity(t float64) float64 {
	return float64(s.Slots(t)) / (s.ServiceMeanMS / 1e3 * s.ServiceMult.At(t))
}
