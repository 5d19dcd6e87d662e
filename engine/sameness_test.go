package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// history drives an engine through random requests of many keys on a manual
// clock and returns its decisions on the enforced limits.
func history(t *testing.T, cfg engine.Config, keys, n int, shadow bool) ([]engine.Decision, engine.Snapshot) {
	f := start(t, cfg)
	rnd := rand.New(rand.NewPCG(1, 2))
	var out []engine.Decision
	var open []*engine.Ticket
	for range n {
		name := fmt.Sprint("user", rnd.IntN(keys))
		claims := []engine.Claim{f.claim("api", name, 1+rnd.Int64N(2)), f.claim("jobs", name, 1)}
		other := rnd.IntN(2) == 0
		if other && shadow {
			claims = append(claims, f.claim("watched", name, 1), f.claim("counted", name, 1))
		}
		tk := f.Admit(engine.Request{Class: engine.Test + engine.Class(rnd.IntN(4)), Claims: claims})
		d := tk.Decision()
		out = append(out, d)
		open = append(open, &tk)
		if len(open) > 20 {
			i := rnd.IntN(len(open))
			open[i].Done(engine.Success)
			open[i] = open[len(open)-1]
			open = open[:len(open)-1]
		}
		f.clock.Advance(time.Duration(rnd.IntN(100)) * time.Millisecond)
	}
	for _, tk := range open {
		tk.Done(engine.Success)
	}
	return out, f.Snapshot()
}

// Limits that only watch change nothing: neither decisions nor the room in the
// table, however much they would have refused.
func TestShadowLimitsChangeNothing(t *testing.T) {
	cfg := engine.Config{
		Limits: []engine.Limit{
			tokens("api", 1, time.Second, 3), inFlight("jobs", 2),
			{Name: "watched", Rate: 1, Per: time.Minute, Burst: 1, Mode: engine.Shadow},
			{Name: "counted", Kind: engine.InFlight, Max: 1, Mode: engine.Shadow},
		},
		Gate:       engine.Gate{Capacity: 15, Reserve: 0.2},
		MaxEntries: 150, // too few for all of them
	}
	with, s := history(t, cfg, 40, 4000, true)
	without, _ := history(t, cfg, 40, 4000, false)
	require.Equal(t, without, with)
	for _, l := range s.Limits {
		would := uint64(0)
		for c := range l.WouldRefuse {
			for _, n := range l.WouldRefuse[c] {
				would += n
			}
		}
		if l.Mode == engine.Shadow {
			require.Greater(t, would, uint64(100), l.Name)
		}
		require.Zero(t, l.InFlight, l.Name)
	}
}

// Dropping idle words changes no decision: a table that is short of room, so
// that it drops words all the time, decides like one that never drops any.
func TestReclaimIsLossless(t *testing.T) {
	cfg := engine.Config{Limits: []engine.Limit{tokens("api", 100, time.Second, 3), inFlight("jobs", 2)}}
	cfg.MaxEntries = 1 << 14
	roomy, _ := history(t, cfg, 2000, 10_000, false)
	cfg.MaxEntries = 100
	tight, s := history(t, cfg, 2000, 10_000, false)
	for _, l := range s.Limits {
		require.Zero(t, l.Overflow, "%s: the table is too small to compare", l.Name)
	}
	require.Equal(t, roomy, tight)
}
