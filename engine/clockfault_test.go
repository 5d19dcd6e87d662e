package engine_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/gate"
)

// moody is a clock of the caller's own whose reads panic from a given one on.
type moody struct {
	set
	left atomic.Int64 // reads that still succeed; negative: all do
}

func (m *moody) Now() time.Duration {
	if m.left.Load() == 0 {
		panic("clock")
	}
	m.left.Add(-1)
	return m.set.Now()
}

// A clock that panics, at whichever of the reads that a request makes, reaches
// nobody. The request is answered as if nothing were wrong, or by the fail
// policies of its limits; nothing stays taken, and nothing that others hold is
// given back.
func TestAClockThatPanicsFollowsTheFailPolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // whose ticker stands while the test runs
		login, gone := tokens("login", 1, time.Hour, 5), tokens("gone", 1, time.Hour, 1)
		login.Fail, gone.Fail = engine.FailClosed, engine.FailClosed
		costs := tokens("costs", 1, time.Hour, 50)
		costs.PostPaid = true
		sick := 0
		for _, names := range [][]string{
			{}, {"api"}, {"jobs"}, {"login"}, {"spent"}, {"gone"}, {"full"}, {"costs"}, {"jobs", "api"}, {"jobs", "spent"}, {"login", "jobs"}, {"gone", "jobs"},
			{"jobs", "api", "login"}, {"login", "spent", "jobs", "api"}, {"costs", "jobs", "daily", "gone"}, {"jobs", "costs", "daily", "api"},
		} {
			for _, precise := range []bool{false, true} {
				for reads := range int64(8) {
					c := &moody{}
					c.left.Store(-1)
					e := engine.Must(engine.New(engine.Config{
						Limits: []engine.Limit{
							tokens("api", 1, time.Hour, 5), login, inFlight("jobs", 3), tokens("spent", 1, time.Hour, 1), gone,
							inFlight("full", 2), costs, quota("daily", 9, engine.Day, "", 0),
						},
						Gate: engine.Gate{Adaptive: &gate.AdaptiveConfig{Initial: 20}}, Ladder: engine.Ladder{Mode: engine.Off},
						Clock: c, PreciseClock: precise, MaxEntries: 100,
					}))
					f := &fixture{Engine: e, t: t}
					var held []*engine.Ticket
					for range 2 {
						a, b := f.open("jobs", "u"), f.open("full", "u")
						held = append(held, a, b)
					}
					f.take("spent", "u", 1)
					f.take("gone", "u", 1)
					healthy := f.Peek(f.asked(names...))
					counted := f.answers()

					c.left.Store(reads)
					tk := f.Admit(f.asked(names...))
					d := tk.Decision()
					tk.Done(engine.Success)
					met := c.left.Load() == 0
					c.left.Store(-1)

					if met {
						sick++
					}
					closed := false
					for _, n := range names {
						closed = closed || n == "login" || n == "gone"
					}
					switch {
					case d.Reason == healthy.Reason:
					case closed:
						require.Equal(t, engine.Closed, d.Reason, "%v, %d reads, precise %v", names, reads, precise)
					default:
						require.True(t, d.OK(), "%v, %d reads, precise %v: %v", names, reads, precise, d)
					}
					require.Equal(t, counted+1, f.answers(), "%v, %d reads, precise %v: every request is counted once", names, reads, precise)
					s := f.Snapshot()
					require.EqualValues(t, 2, f.inUse("jobs"), "%v, %d reads, precise %v", names, reads, precise)
					require.EqualValues(t, 2, f.inUse("full"), "%v", names)
					require.Zero(t, f.inUse("costs"), "%v", names)
					require.Equal(t, 4, s.Gate.Other)
					for _, tk := range held {
						tk.Done(engine.Success)
					}
					require.Zero(t, f.Snapshot().Gate.Other)
					require.NoError(t, e.Close())
				}
			}
		}
		require.Greater(t, sick, 50, "the clock was well all the time")
	})
}

// answers is how many requests were admitted or refused.
func (f *fixture) answers() (n uint64) {
	s := f.Snapshot()
	for c := range s.Admitted {
		n += s.Admitted[c] + s.Gate.Refused[c] + s.Ladder.Refused[c]
		for _, l := range s.Limits {
			for _, r := range l.Refused[c] {
				n += r
			}
		}
	}
	return n
}

// asked is a request of cost 1 of every named limit.
func (f *fixture) asked(names ...string) engine.Request {
	r := engine.Request{Class: engine.Read}
	for _, n := range names {
		r.Claims = append(r.Claims, f.claim(n, "u", 1))
	}
	return r
}
