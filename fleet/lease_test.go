package fleet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
)

func strict(rate, burst int64) engine.Limit {
	l := tokenBucket(rate, burst)
	l.Sync.Mode = engine.SyncStrict
	return l
}

func daily(n int64) engine.Limit {
	return engine.Limit{Name: "cap", Kind: engine.Quota, Rate: n, Window: engine.Day, Sync: engine.Sync{Mode: engine.SyncShare}}
}

// A strict limit is never exceeded, from cold and through every fault, but for
// tokens that are spent a moment after they were leased.
func TestStrictLimitIsNeverExceeded(t *testing.T) {
	for _, c := range []struct {
		n           int
		rate, burst int64
		load        float64
		least       float64
	}{{2, 1000, 200, 3, 0.9}, {10, 1000, 200, 3, 0.9}, {10, 10, 10, 3, 0.7}, {100, 10, 10, 3, 0.5}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			l := strict(c.rate, c.burst)
			w := newWorld(t, c.n, fleet.Config{}, l)
			w.seconds(0.5)
			d := w.drive(l, user, c.load*float64(c.rate), balanced(c.n))
			w.seconds(10)
			t.Logf("admitted/one %.3f excess %.1f calls/s %.0f %v", float64(sum(d.admitted))/float64(d.truth.n),
				d.excess(float64(c.rate), float64(c.burst)), float64(w.store.Commands)/10, d.perSecond)
			require.GreaterOrEqual(t, float64(sum(d.admitted)), c.least*float64(d.truth.n))
			require.LessOrEqual(t, d.excess(float64(c.rate), float64(c.burst)), float64(c.rate)*0.3+1)
			for range 5 {
				w.lose = func(int) bool { return true }
				w.seconds(0.3)
				w.lose = nil
				w.rtt = 300 * ms
				w.seconds(1)
				w.rtt = ms
			}
			w.down = true
			before := sum(d.admitted)
			w.seconds(5)
			require.LessOrEqual(t, sum(d.admitted)-before, c.burst+c.rate*3/2, "nothing is admitted that was not leased")
			require.LessOrEqual(t, d.excess(float64(c.rate), float64(c.burst)), float64(c.rate)*0.3+1)
		})
	}
}

// The fleet spends its daily cap to the last unit and never more, although
// replies are lost, the store forgets, and instances crash and stop.
func TestDailyCapIsSpentExactly(t *testing.T) {
	for _, faults := range []bool{false, true} {
		t.Run(fmt.Sprint("faults ", faults), func(t *testing.T) {
			l := daily(5000)
			w := newWorld(t, 4, fleet.Config{}, l)
			w.seconds(0.5)
			d := w.drive(l, user, 2000, balanced(4))
			if faults {
				w.after(int64(200*ms), func() { w.lose = func(i int) bool { return i%2 == 0 } })
				w.after(int64(900*ms), func() { w.lose = nil })
				w.after(int64(1200*ms), func() { w.store.Flush() })
				w.after(int64(1500*ms), func() { w.down = true })
				w.after(int64(1800*ms), func() { w.down = false })
			}
			w.seconds(20)
			require.LessOrEqual(t, sum(d.admitted), int64(5000))
			require.GreaterOrEqual(t, sum(d.admitted), int64(4990), "%v", d.admitted)
			step, _ := w.boxes[0].ask(l.Name, user, 1)
			require.Equal(t, engine.Limited, step.Reason)
			require.Greater(t, step.RetryAfter, time.Hour, "until the window ends")
		})
	}
}

// Whoever does not use its lease gives it back: the last units of a cap are
// not stranded with instances that have nothing to spend them on.
func TestIdleLeasesGoBack(t *testing.T) {
	l := daily(1000)
	w := newWorld(t, 2, fleet.Config{}, l)
	w.seconds(0.5)
	// The first is busy for a second, and then has nothing to do.
	d := w.drive(l, user, 400, func(now int64) []float64 {
		if now < int64(time.Hour)+1500*ms {
			return []float64{1, 0}
		}
		return []float64{0, 1}
	})
	w.seconds(15)
	require.Equal(t, int64(1000), sum(d.admitted))
}

// A cap is of its window.
func TestCapStartsAnewWithItsWindow(t *testing.T) {
	l := daily(100)
	w := newWorld(t, 2, fleet.Config{}, l)
	w.seconds(0.5)
	d := w.drive(l, user, 200, balanced(2))
	w.seconds(10)
	require.Equal(t, int64(100), sum(d.admitted))
	d.stopped = true
	w.now += int64(24 * time.Hour)
	w.queue = nil
	for _, b := range w.boxes {
		b.restartTicks()
	}
	d2 := w.drive(l, user, 200, balanced(2))
	w.seconds(10)
	require.Equal(t, int64(100), sum(d2.admitted))
}

// What an instance had leased goes back when it stops in good order.
func TestCloseGivesLeasesBack(t *testing.T) {
	l := daily(1000)
	w := newWorld(t, 1, fleet.Config{}, l)
	w.seconds(0.5)
	d := w.drive(l, user, 300, balanced(1))
	w.seconds(1)
	d.stopped = true
	w.seconds(0.3)
	b := w.boxes[0]
	for _, c := range b.f.Farewell() {
		b.send(c)
	}
	w.seconds(0.1)
	b.alive = false
	w.boxes = append(w.boxes, &box{w: w, id: 1})
	w.boxes[1].start(l)
	d2 := w.drive(l, user, 300, func(int64) []float64 { return []float64{0, 1} })
	w.seconds(10)
	require.Equal(t, int64(1000), sum(d.admitted)+sum(d2.admitted))
}
