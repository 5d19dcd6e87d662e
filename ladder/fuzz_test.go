package ladder_test

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/ladder"
)

// tape reads a fuzzer's bytes; past the end it is all zeros.
type tape struct{ rest []byte }

func (t *tape) next() byte {
	if len(t.rest) == 0 {
		return 0
	}
	b := t.rest[0]
	t.rest = t.rest[1:]
	return b
}

func (t *tape) word() uint64 {
	var raw [8]byte
	for i := range raw {
		raw[i] = t.next()
	}
	return binary.LittleEndian.Uint64(raw[:])
}

// value is a reading's value: mostly a load, sometimes any float there is.
func (t *tape) value() float64 {
	if b := t.next(); b < 240 {
		return float64(b) / 100
	}
	return math.Float64frombits(t.word())
}

// law is one of a few valid configurations, some of them extreme.
func (t *tape) law() ladder.Config {
	c := ladder.Default()
	b := t.next()
	if b&1 != 0 {
		c = ladder.Flap()
	}
	if b&2 != 0 {
		c = c.Faster(5)
	}
	if b&4 != 0 {
		c.BrakeSmooth, c.Smooth, c.Watch = 0, 0, 0
	}
	c.Max = float64(t.next()%81) / 20
	return c
}

// FuzzLaw holds the ladder to its promises under any sequence of readings,
// times and reconfigurations.
func FuzzLaw(f *testing.F) {
	f.Add([]byte{0, 60, 1, 100, 1, 100, 1, 100, 1, 160, 1, 160, 1, 160, 1, 160, 1, 160, 1, 160, 1, 160, 1, 160, 1, 10, 1, 10})
	f.Add([]byte{1, 80, 2, 240, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f, 3, 255, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f})
	f.Add([]byte{2, 80, 6, 200, 7, 200, 5, 1, 2, 3, 4, 5, 6, 7, 8, 200})
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &tape{rest: data}
		cfg := in.law()
		require.NoError(t, cfg.Validate())
		l := ladder.New(cfg)
		now := time.Unix(1e9, 0)
		for len(in.rest) > 0 {
			op := in.next()
			elapsed := cfg.Tick
			r := ladder.Reading{OK: true}
			switch op % 8 {
			case 4:
				elapsed = time.Duration(in.word()) // anything: back, far ahead
			case 5:
				r.OK = false
			case 6:
				cfg = in.law()
				before := l.Level()
				l.Reconfigure(cfg)
				require.Equal(t, min(before, cfg.Max), l.Level())
				continue
			}
			now = now.Add(elapsed)
			switch op / 8 % 4 {
			case 0:
				r.At = now
			case 1:
				r.At = l.State().At // the same again
			case 2:
				r.At = now.Add(-time.Duration(in.next()) * cfg.Tick)
			}
			r.Value = in.value()

			before := l.State()
			l.Tick(now, r)
			after := l.State()
			require.True(t, after.Level >= 0 && after.Level <= cfg.Max, "level %v of at most %v", after.Level, cfg.Max)
			require.LessOrEqual(t, after.Level-before.Level, cfg.StepUp+1e-12)
			fall := max(cfg.StepDown, (2*cfg.Tick).Seconds()*cfg.Max/cfg.FailOpen.Seconds())
			require.LessOrEqual(t, before.Level-after.Level, fall+1e-4+1e-12)
			require.True(t, after.Load >= 0 && after.Load <= max(cfg.Ceiling, cfg.High), "smoothed load %v", after.Load)
			require.True(t, after.Hold >= cfg.Hold && after.Hold <= cfg.HoldMax, "hold %v", after.Hold)
			if after.Level > before.Level {
				require.True(t, after.Armed, "shed without being armed")
				require.True(t, r.OK && r.Value > 0 && !math.IsInf(r.Value, 0), "shed on %v", r.Value)
			}
			if after.Blind {
				require.False(t, after.Armed)
			}
			if cfg.Max <= 3 {
				require.False(t, ladder.MakeWord(after.Level, uint32(op)).Sheds(3, uint64(op)))
			}
		}
	})
}
