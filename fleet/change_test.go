package fleet_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
)

// retune gives an instance another rate and burst, as a Swap does.
func (b *box) retune(was, is engine.Limit) {
	r := rule(b.w.t, was)
	next, ok, err := r.Retune(is.Rate, is.Per, is.Burst, b.w.now)
	require.NoError(b.w.t, err)
	require.True(b.w.t, ok)
	b.shared[is.Name], err = b.f.Bind(engine.Binding{ID: 1, Limit: is, Rule: next, Prev: b.shared[was.Name]})
	require.NoError(b.w.t, err)
}

// A changed rate converts what is owed in tokens, here and in the store: a
// drained bucket is drained under the new rate too, and not for the time that
// the old one would have taken.
func TestChangedRateConvertsWhatIsOwed(t *testing.T) {
	for seed := range uint64(20) {
		changedRate(t, seed)
	}
}

func changedRate(t *testing.T, seed uint64) {
	t.Helper()
	was, is := tokenBucket(10, 100), tokenBucket(100, 100)
	w := worldOf(t, seed, 2, fleet.Config{}, was)
	w.seconds(0.5)
	for range 10 {
		for range 200 {
			w.boxes[0].ask("api", user, 1)
		}
		w.seconds(0.1)
	}
	owed := w.level(was) * 10
	require.Greater(t, owed, 80.0)
	for _, b := range w.boxes {
		b.retune(was, is)
	}
	ask := func(i int) (n int) {
		for range 200 {
			if step, _ := w.boxes[i].ask("api", user, 1); step.Reason == engine.Admitted {
				n++
			}
		}
		return n
	}
	got := ask(0)
	require.LessOrEqual(t, float64(got), 100-owed+5)
	w.seconds(0.2)
	// The store learns of the rate with the next exchange, after 0.1 s at most, give or take.
	drained := owed + float64(got) - w.level(is)*100
	require.Greater(t, drained, 6.0, "more than half of 0.1 s at 100 a second")
	require.Less(t, drained, 21.0, "0.2 s at 100 a second")
	w.seconds(2)
	require.InDelta(t, 71, ask(1), 8, "full again, and this instance's part of it is 1/sqrt(2)")
}

// While a deploy rolls, each instance enforces its own rate over a debt that is
// common.
func TestRollingDeployOfARate(t *testing.T) {
	was, is := tokenBucket(1000, 200), tokenBucket(500, 100)
	w := newWorld(t, 4, fleet.Config{}, was)
	w.seconds(0.5)
	d := w.drive(was, user, 3000, balanced(4))
	w.seconds(4)
	for _, b := range w.boxes {
		b.retune(was, is)
		w.seconds(0.5)
	}
	w.seconds(6)
	t.Logf("%v", d.perSecond)
	for _, n := range d.perSecond[7:11] {
		require.InDelta(t, 500, n, 50)
	}
	for _, n := range d.perSecond[4:6] {
		require.LessOrEqual(t, n, int64(1100))
	}
}

// Binding the same limit again, as every reload does, refills nothing.
func TestReloadRefillsNothing(t *testing.T) {
	l := tokenBucket(1, 5)
	w, b := one(t, fleet.Config{}, l)
	for range 5 {
		step, _ := b.ask("api", user, 1)
		require.Equal(t, engine.Admitted, step.Reason)
	}
	for range 100 {
		b.retune(l, l)
		step, _ := b.ask("api", user, 1)
		require.Equal(t, engine.Limited, step.Reason)
	}
	w.seconds(0.5)
	require.Equal(t, 1, b.f.Snapshot().Keys)
}

// The wall clocks of instances may say what they like.
func TestWallClocksChangeNothing(t *testing.T) {
	run := func(skew time.Duration) []int64 {
		l := tokenBucket(1000, 200)
		w := newWorld(t, 4, fleet.Config{}, l)
		for i, b := range w.boxes {
			b.wall = time.Duration(i%2*2-1) * skew
		}
		w.seconds(0.5)
		d := w.drive(l, user, 3000, balanced(4))
		w.after(int64(time.Second), func() { w.boxes[0].wall += skew })
		w.seconds(4)
		return d.times
	}
	require.Equal(t, run(0), run(5*time.Second))

	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		require.NotContains(t, string(text), "time.Now", name)
		if name != "loop.go" { // whose check tells of clocks that are apart
			require.NotContains(t, string(text), ".Wall()", name)
		}
	}
}

// An exchange takes few calls, whatever the number of keys, and none is large.
func TestExchangeIsFrugal(t *testing.T) {
	l := tokenBucket(1000, 2)
	w := newWorld(t, 1, fleet.Config{MaxKeys: 5000, Transport: shards(16)}, l)
	w.seconds(0.5)
	b := w.boxes[0]
	largest := 0
	b.watch = func(items int) { largest = max(largest, items) }
	before := w.store.Commands
	const ticks = 20
	for range ticks {
		for i := range 1000 {
			b.shared["api"].Take(keyHash(i), w.now, 1)
		}
		w.seconds(0.1)
	}
	calls := float64(w.store.Commands-before) / ticks
	t.Logf("%.1f calls a tick for 1000 keys, at most %d keys a call", calls, largest)
	require.LessOrEqual(t, calls, 17*1.2)
	require.LessOrEqual(t, largest, 128)
	for range 40 {
		w.seconds(0.5)
	}
	require.Zero(t, b.f.Snapshot().Pending)
}
