package ladder_test

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/ladder"
)

func TestNothingOnTheWayAllocates(t *testing.T) {
	r := newRig(ladder.Default())
	require.Zero(t, testing.AllocsPerRun(1000, func() { r.feed(1.2) }), "Tick")
	require.Zero(t, testing.AllocsPerRun(1000, func() { r.State() }), "State")
	w, shed := ladder.MakeWord(1.4, 1), 0
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if w.Sheds(1, uint64(shed)) {
			shed++
		}
	}), "Sheds")
	var s ladder.Standing
	now := time.Now()
	require.Zero(t, testing.AllocsPerRun(1000, func() { s.Sample(1, 2, 3, now); s.Read() }), "Standing")
	sched := ladder.NewSchedLatency()
	sched.Read()
	require.Zero(t, testing.AllocsPerRun(100, func() { sched.Read() }), "SchedLatency")
}

// The verdict is part of every request: it must be inlined, hash and all.
func TestShedsIsInlined(t *testing.T) {
	if runtime.Compiler != "gc" {
		t.Skip("asks the gc compiler")
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, f := range []string{"can inline Word.Sheds\n", "can inline MakeWord\n", "inlining call to Word.shedsFrom\n", "inlining call to position\n"} {
		require.Contains(t, strings.ReplaceAll(string(out), "\r", ""), f)
	}
}

var sink bool

func BenchmarkSheds(b *testing.B) {
	for name, level := range map[string]float64{"open": 0, "boundary": 1.4} {
		b.Run("level="+name, func(b *testing.B) {
			w, i := ladder.MakeWord(level, 1), uint64(0)
			for b.Loop() {
				i++
				sink = w.Sheds(1, i)
			}
		})
	}
}

func BenchmarkTick(b *testing.B) {
	r := newRig(ladder.Default())
	b.ReportAllocs()
	for b.Loop() {
		r.feed(0.9)
	}
}
