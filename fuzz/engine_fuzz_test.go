package fuzz

import (
	"bytes"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// catalogue is what the engine under test starts with. The rates are such that
// the engine's clock counts them without rounding, so it must agree with exact
// fractions to the nanosecond.
func catalogue() []engine.Limit {
	return []engine.Limit{
		{Name: "fast", Rate: 10, Per: time.Second, Burst: 5},
		{Name: "slow", Rate: 1, Per: time.Hour, Burst: 2, Fail: engine.FailClosed},
		{Name: "tuned", Rate: 1, Per: time.Second, Burst: 4},
		{Name: "late", Rate: 2, Per: time.Second, Burst: 10, PostPaid: true},
		{Name: "minutely", Kind: engine.Quota, Rate: 3, Window: engine.Minute},
		{Name: "daily", Kind: engine.Quota, Rate: 5, Window: engine.Day},
		{Name: "window", Kind: engine.Sliding, Rate: 5, Per: time.Minute},
		{Name: "pair", Kind: engine.InFlight, Max: 2},
		{Name: "crowd", Kind: engine.InFlight, Max: 5},
		{Name: "never", Kind: engine.Block},
		{Name: "always", Kind: engine.Unlimited},
	}
}

func TestTapesDriveEveryKind(t *testing.T) {
	for k := engine.TokenBucket; k <= engine.Unlimited; k++ {
		require.True(t, slices.ContainsFunc(catalogue(), func(l engine.Limit) bool { return l.Kind == k }), "%v", k)
	}
}

// unknown is a handle that is in no configuration.
const unknown = engine.LimitID(999)

// world drives an engine and its model side by side.
type world struct {
	e       *engine.Engine
	clock   *engine.ManualClock
	cfg     engine.Config
	m       *model
	keys    []key.Key
	engines []*engine.Ticket
	models  []ticket
	steady  bool   // the ticker is never late
	total   uint64 // requests
	refused uint64
	drifted bool // counters of shadow limits are exact only on true times
}

func newWorld(t *testing.T, secret byte) *world {
	start := time.Date(2025, 1, 30, 23, 59, 30, 0, time.UTC)
	w := &world{clock: engine.NewManualClock(start), m: &model{wall: start, gated: true}}
	w.cfg = engine.Config{
		Limits: catalogue(), Clock: w.clock, MaxEntries: 100,
		Secret: bytes.Repeat([]byte{secret}, 16), // where keys lie, which must not matter
		Gate:   engine.Gate{Capacity: 5, Reserve: 0.2, HardCap: 6},
	}
	w.m.alloc, w.m.hardCap = 4, 6
	var err error
	w.e, err = engine.New(w.cfg)
	require.NoError(t, err)
	for i := range 3 {
		w.keys = append(w.keys, w.e.Key("user", fmt.Sprint(i)))
	}
	for _, cfg := range w.cfg.Limits {
		l := &modelLimit{cfg: cfg, live: true, n0: new(big.Rat), keys: map[int]*modelKey{}}
		l.id, _ = w.e.Limit(cfg.Name)
		w.m.limits = append(w.m.limits, l)
	}
	w.m.tick()
	return w
}

var durations = []time.Duration{
	1, 99_999_999, 100 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond,
	10 * time.Second, 15 * time.Second, time.Minute, 75 * time.Second, time.Hour, 24 * time.Hour, 40 * 24 * time.Hour,
}

func FuzzEngine(f *testing.F) {
	for _, seed := range engineSeeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 400 {
			return
		}
		runEngine(t, &tape{b})
	})
}

// engineSeeds are tapes of every operation, made by a fixed generator.
func engineSeeds() (seeds [][]byte) {
	x := uint32(1)
	for range 300 {
		b := make([]byte, 200)
		for i := range b {
			x = x*1664525 + 1013904223
			b[i] = byte(x >> 24)
		}
		seeds = append(seeds, b)
	}
	return seeds
}

func runEngine(t *testing.T, in *tape) {
	secret := in.byte()
	w := newWorld(t, secret)
	w.steady = secret&1 == 0
	defer func() { require.NoError(t, w.e.Close()) }()
	for step := 0; !in.done(); step++ {
		if what := w.step(t, in); what != "" {
			t.Fatalf("operation %d at %v: %s", step, time.Duration(w.m.now), what)
		}
	}
	w.finish(t)
}

func (w *world) step(t *testing.T, in *tape) string {
	switch op := in.n(16); op {
	case 8:
		i := in.n(len(w.engines) + 1)
		t.Log("done", i)
		w.done(i)
	case 9:
		w.settle(t, in)
	case 10, 11:
		d := durations[in.n(len(durations))]
		t.Log("advance", d)
		w.advance(d)
	case 12:
		d := durations[in.n(6)]
		if w.steady {
			t.Log("advance", d)
			w.advance(d)
			break
		}
		t.Log("drift", d)
		w.clock.Drift(d)
		w.m.drift(d)
		w.drifted = true
	case 13:
		w.swap(t, in)
	case 14:
		l := w.m.limits[in.n(len(w.m.limits))]
		mode := []engine.Mode{engine.Enforce, engine.Shadow, engine.Off}[in.n(3)]
		if l.live {
			t.Log("mode", l.cfg.Name, mode)
			require.NoError(t, w.e.SetMode(l.cfg.Name, mode))
			l.mode = mode
		}
	case 15:
		// The engine looks at the time of day once a second.
		w.advance(time.Second)
		d := durations[4+in.n(8)]
		if in.bool() {
			d = -d
		}
		t.Log("step the wall clock", d)
		w.clock.StepWall(d)
		w.m.wall = w.m.wall.Add(d)
		w.advance(1)
	default:
		return w.admit(t, in)
	}
	return ""
}

// advance moves the time on; at most about two months in all, for the engine
// does every tick of them.
func (w *world) advance(d time.Duration) {
	if d > time.Hour && w.m.now > int64(30*24*time.Hour) {
		d = time.Hour
	}
	w.clock.Advance(d)
	w.m.drift(d)
	w.m.tick()
}

func (w *world) admit(t *testing.T, in *tape) string {
	class := engine.Class(in.n(5))
	var claims []claim
	var asked []engine.Claim
	fresh := false
	n := in.n(5)
	if in.n(32) == 31 {
		n = engine.MaxClaims + 1
	}
	for range n {
		pick, cost, who := in.n(len(w.m.limits)+1), int64(in.n(8)), in.n(len(w.keys))
		c := claim{k: who, cost: cost}
		id := unknown
		if pick < len(w.m.limits) {
			c.l = w.m.limits[pick]
			id = c.l.id
			fresh = fresh || w.m.startsAtOnce(c)
		}
		claims = append(claims, c)
		asked = append(asked, id.ClaimN(w.keys[who], cost))
	}
	if fresh && w.m.pub != w.m.now {
		w.advance(0)
	}
	tk := w.e.Admit(engine.Request{Class: class, Claims: asked})
	d := tk.Decision()
	w.total++
	if !d.OK() {
		w.refused++
	}
	text := fmt.Sprint("admit ", class)
	for _, c := range claims {
		name := "unknown"
		if c.l != nil {
			name = c.l.cfg.Name
		}
		text += fmt.Sprintf(" %s/%d:%d", name, c.k, c.cost)
	}
	t.Logf("%s = %+v", text, d)
	mt, f := w.m.admit(class, claims, d)
	if f.what != "" {
		return f.what
	}
	w.engines, w.models = append(w.engines, &tk), append(w.models, mt)
	return ""
}

func (w *world) done(i int) {
	if i == len(w.engines) {
		return
	}
	w.engines[i].Done(engine.Success)
	w.m.done(&w.models[i])
}

func (w *world) settle(t *testing.T, in *tape) {
	if len(w.engines) == 0 {
		return
	}
	i, l, actual := in.n(len(w.engines)), w.m.limits[in.n(len(w.m.limits))], int64(in.n(14))-1
	t.Log("settle", i, l.cfg.Name, actual)
	w.engines[i].Settle(l.id, actual)
	w.m.settle(&w.models[i], l, actual)
}

// swap changes one limit's numbers, the gate's, or takes a limit out or in.
func (w *world) swap(t *testing.T, in *tape) {
	cfg := w.cfg
	cfg.Limits = slices.Clone(cfg.Limits)
	change := func(name string, how func(*engine.Limit)) {
		for i := range cfg.Limits {
			if cfg.Limits[i].Name == name {
				how(&cfg.Limits[i])
			}
		}
	}
	v, what := int64(in.n(8))+1, in.n(7)
	t.Log("swap", what, v)
	switch what {
	case 0:
		change("tuned", func(l *engine.Limit) { l.Rate = v })
	case 1:
		change("tuned", func(l *engine.Limit) { l.Burst = v })
	case 2:
		change("late", func(l *engine.Limit) { l.Burst = 2 * v })
	case 3:
		change("pair", func(l *engine.Limit) { l.Max = v })
	case 4:
		change("daily", func(l *engine.Limit) { l.Rate = v })
	case 5:
		cfg.Gate.Capacity = int(v)
		cfg.Gate.HardCap = int(v) + 1
	case 6:
		out := slices.IndexFunc(cfg.Limits, func(l engine.Limit) bool { return l.Name == "crowd" })
		if out >= 0 {
			cfg.Limits = slices.Delete(cfg.Limits, out, out+1)
		} else {
			cfg.Limits = append(cfg.Limits, engine.Limit{Name: "crowd", Kind: engine.InFlight, Max: v})
		}
	}
	require.NoError(t, w.e.Swap(cfg))
	w.cfg = cfg
	w.m.swap(cfg)
}

func (m *model) swap(cfg engine.Config) {
	m.pub = m.now
	m.alloc, m.hardCap = int(0.8*float64(cfg.Gate.Capacity)+1e-9), cfg.Gate.HardCap
	for _, l := range m.limits {
		i := slices.IndexFunc(cfg.Limits, func(c engine.Limit) bool { return c.Name == l.cfg.Name })
		switch {
		case i < 0:
			l.live = false
			for _, k := range l.keys {
				k.inside = 0 // those inside give back to nobody
			}
			l.keys = map[int]*modelKey{}
			continue
		case !l.live:
			l.live, l.mode = true, engine.Enforce
		case l.cfg.Kind == engine.TokenBucket && cfg.Limits[i].Rate != l.cfg.Rate:
			l.n0, l.t0 = l.clock(m.now), m.now
		}
		l.cfg = cfg.Limits[i]
	}
}

// finish gives everything back and holds the totals against each other.
func (w *world) finish(t *testing.T) {
	s := w.e.Snapshot()
	require.Equal(t, [2]int{w.m.critical, w.m.other}, [2]int{s.Gate.Critical, s.Gate.Other}, "inside the gate")
	byName := map[string]engine.LimitSnapshot{}
	admitted, refused := uint64(0), uint64(0)
	for _, l := range s.Limits {
		byName[l.Name] = l
		for _, reasons := range l.Refused {
			for _, n := range reasons {
				refused += n
			}
		}
	}
	for _, n := range slices.Concat(s.Gate.Refused[:], s.Ladder.Refused[:]) {
		refused += n
	}
	for _, n := range s.Admitted {
		admitted += n
	}
	require.Equal(t, w.refused, refused, "refused")
	require.Equal(t, w.total, admitted+refused, "every request is counted once")
	for _, l := range w.m.limits {
		inside := int64(0)
		for k := range maps.Values(l.keys) {
			inside += k.inside + k.held
		}
		if l.live {
			require.Equal(t, inside, byName[l.cfg.Name].InFlight, "%s: in flight", l.cfg.Name)
		}
		would := uint64(0)
		for _, reasons := range byName[l.cfg.Name].WouldRefuse {
			for _, n := range reasons {
				would += n
			}
		}
		if !w.drifted && !l.vague {
			require.Equal(t, l.would, would, "%s: would have refused", l.cfg.Name)
		}
	}
	for i := range w.engines {
		w.done(i)
		w.engines[i].Done(engine.Dropped) // once more changes nothing
	}
	s = w.e.Snapshot()
	require.Zero(t, s.Gate.Critical+s.Gate.Other, "inside the gate at the end")
	for _, l := range s.Limits {
		require.Zero(t, l.InFlight, "%s: in flight at the end", l.Name)
	}
	require.Zero(t, s.Faults)
}
