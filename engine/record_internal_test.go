package engine

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// twoHolds is a request whose ticket holds two things, and one whose ticket holds an
// estimate.
func twoHolds(t *testing.T) (e *Engine, req, post Request) {
	t.Helper()
	e = Must(New(Config{
		Limits: []Limit{{Name: "jobs", Kind: InFlight, Max: 1000}, {Name: "places", Kind: InFlight, Max: 1000},
			{Name: "paid", Rate: 1, Per: time.Hour, Burst: 1000, PostPaid: true}},
		MaxEntries: 1024, Clock: NewManualClock(time.Time{}),
	}))
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	k := e.Key("u")
	return e, Request{Class: Read, Claims: []Claim{LimitID(1).Claim(k), LimitID(2).Claim(k)}},
		Request{Class: Read, Claims: []Claim{LimitID(3).ClaimN(k, 10)}}
}

// idle returns how many records there are, and how many of them are idle.
func (e *Engine) idle() (all, idle int) {
	if p := e.records.Load(); p != nil {
		all = len(*p) * chunk
	}
	for i := range e.lanes {
		for n := uint32(e.lanes[i].idle.Load()); n != 0; n = uint32(e.record(n - 1).next.Load()) {
			idle++
		}
	}
	return all, idle
}

// There are as many records as tickets that need one are open at the same time, and
// they are used again.
func TestRecordsAreUsedAgain(t *testing.T) {
	e, req, _ := twoHolds(t)
	for range 3 {
		open := make([]*Ticket, 5*chunk)
		for i := range open {
			tk := e.Admit(req)
			require.Equal(t, holdRecord, kindOf(tk.state.flags))
			open[i] = &tk
		}
		require.EqualValues(t, len(open), e.Snapshot().Limits[0].InFlight)
		for _, tk := range open {
			tk.Done(Success)
		}
		require.Zero(t, e.Snapshot().Limits[0].InFlight)
		all, idle := e.idle()
		require.Equal(t, all, idle)
		require.LessOrEqual(t, all, 2*5*chunk, "of two lanes at most, if the stack has moved")
	}
}

// A decision that has taken a record and comes to nothing, or to less, leaves it.
func TestARecordThatIsNotNeededIsIdle(t *testing.T) {
	e, _, _ := twoHolds(t)
	none := e.plan.Load().limits[0]
	for _, open := range []bool{false, true} {
		d := draft{limit: none, open: open}
		for range few + 1 {
			e.add(&d, hold{kind: holdShared})
		}
		all, idle := e.idle()
		require.Equal(t, 1, all-idle)
		d.n, d.holds = 0, [few]hold{} // as whoever backs out does
		tk := e.ticket(&d)
		require.Equal(t, open, tk.OK())
		require.Equal(t, holdNone, kindOf(tk.state.flags))
		all, idle = e.idle()
		require.Equal(t, all, idle)
	}
}

// A copy of a ticket, which vet complains about, gives back and settles nothing when
// the ticket is done, and nothing of the ticket that has the record by then.
func TestACopyOfATicketIsDoneOnce(t *testing.T) {
	e, req, post := twoHolds(t)
	e.Snapshot() // if the stack has to move, now: lanes go by it
	like := func(tk *Ticket) *Ticket {
		return &Ticket{limit: tk.limit, left: tk.left, word: tk.word, state: state{flags: tk.state.flags, slot: tk.state.slot}}
	}
	first := e.Admit(req)
	one, two := like(&first), like(&first)
	first.Done(Success)
	one.Done(Success)
	require.Equal(t, Misuse{DoubleDone: 1}, e.Snapshot().Misuse)
	next := e.Admit(post)
	require.Equal(t, first.state.slot, next.state.slot)
	two.Settle(3, 500)
	two.Done(Success)
	require.Equal(t, Misuse{DoubleDone: 2, Settle: 1}, e.Snapshot().Misuse)
	d := e.Peek(Request{Class: Read, Claims: []Claim{LimitID(3).ClaimN(e.Key("u"), 1)}})
	require.EqualValues(t, 989, d.Remaining, "the estimate is still held")
	next.Settle(3, 100)
	next.Done(Success)
	d = e.Peek(Request{Class: Read, Claims: []Claim{LimitID(3).ClaimN(e.Key("u"), 1)}})
	require.EqualValues(t, 899, d.Remaining)
	require.Zero(t, e.Snapshot().Limits[0].InFlight)
	all, idle := e.idle()
	require.Equal(t, all, idle)
}

// Somebody who has seen the topmost of the idle records and the one below, and was away
// while both were taken and the first was left again, must not take the second for idle.
func TestTheHeadOfTheIdleRecordsIsNeverTheSameAgain(t *testing.T) {
	e, _, _ := twoHolds(t)
	l := e.lane(0)
	e.leaveRecord(l, e.takeRecord(l))
	seen := map[uint64]bool{}
	for range 100 {
		head := l.idle.Load()
		require.False(t, seen[head])
		seen[head] = true
		top, second := e.takeRecord(l), e.takeRecord(l)
		e.leaveRecord(l, top)
		require.NotEqual(t, head, l.idle.Load())
		require.Same(t, top, e.takeRecord(l))
		e.leaveRecord(l, second)
		e.leaveRecord(l, top)
	}
}

// Whoever takes a record has it alone, also while more are made.
func TestARecordIsOnesOwn(t *testing.T) {
	e, _, _ := twoHolds(t)
	l := e.lane(0)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var mine []*record
			for i := range 20_000 {
				if i%7 < 4 {
					r := e.takeRecord(l)
					r.n++ // the race detector would tell
					if r.n != 1 {
						t.Error("somebody else has it")
					}
					mine = append(mine, r)
					continue
				}
				r := mine[len(mine)-1]
				mine = mine[:len(mine)-1]
				r.n--
				e.leaveRecord(l, r)
				if i%7 == 6 {
					for _, r := range mine {
						r.n--
						e.leaveRecord(l, r)
					}
					mine = mine[:0]
				}
			}
			for _, r := range mine {
				r.n--
				e.leaveRecord(l, r)
			}
		})
	}
	wg.Wait()
	all, idle := e.idle()
	require.Equal(t, all, idle)
	require.LessOrEqual(t, all, (4*4+4)*chunk, "each of four makes more at most when its own four are out")
}
