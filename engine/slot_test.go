package engine_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// inUse is what all keys of the limit hold.
func (f *fixture) inUse(limit string) int64 {
	f.t.Helper()
	for _, l := range f.Snapshot().Limits {
		if l.Name == limit {
			return l.InFlight
		}
	}
	f.t.Fatal("no limit " + limit)
	return 0
}

// open admits one request on the limit and leaves it open.
func (f *fixture) open(limit, key string) *engine.Ticket {
	t := f.request(engine.Read, key, limit)
	return &t
}

// Giving a place back needs nothing but the ticket: the limit may be gone, or
// another, or back.
func TestPlacesComeBackAfterTheLimitIsRemoved(t *testing.T) {
	with, without := limits(inFlight("jobs", 1)), limits(tokens("other", 1, time.Hour, 1))
	f := start(t, with)
	with.Clock, without.Clock = f.clock, f.clock
	with.MaxEntries, without.MaxEntries = 1<<12, 1<<12

	a := f.open("jobs", "u")
	require.True(t, a.OK())
	require.NoError(t, f.Swap(without))
	a.Done(engine.Success)
	require.NoError(t, f.Swap(with))
	b := f.open("jobs", "u")
	require.True(t, b.OK())
	c := f.open("jobs", "u")
	require.False(t, c.OK())
	require.NoError(t, f.Swap(without))
	require.NoError(t, f.Swap(with))
	d := f.open("jobs", "u")
	require.True(t, d.OK(), "a limit that comes back starts afresh")
	b.Done(engine.Success)
	require.EqualValues(t, 1, f.inUse("jobs"), "and the old request gives nothing of the new one's back")
	d.Done(engine.Success)
	require.Zero(t, f.inUse("jobs"))
	require.Zero(t, f.Snapshot().Misuse.DoubleDone)
}

// A maximum below what is in flight admits nothing until enough have ended.
func TestShrunkenMaximumDrains(t *testing.T) {
	f := start(t, limits(inFlight("jobs", 5)))
	next := limits(inFlight("jobs", 2))
	next.Clock, next.MaxEntries = f.clock, 1<<12
	var held []*engine.Ticket
	for range 5 {
		held = append(held, f.open("jobs", "u"))
	}
	require.NoError(t, f.Swap(next))
	for i, tk := range held {
		d := f.open("jobs", "u")
		if left := 5 - i; left < 2 {
			require.True(t, d.OK())
			d.Done(engine.Success)
		} else {
			require.Equal(t, engine.Full, d.Decision().Reason, "%d left", left)
			require.Zero(t, d.Decision().Remaining)
		}
		tk.Done(engine.Success)
	}
	require.Zero(t, f.inUse("jobs"))
}

// Once a smaller maximum is there, no interleaving of ends and new requests
// passes it.
func TestShrinkingRacesWithEnds(t *testing.T) {
	f := start(t, limits(inFlight("jobs", 5)))
	small, large := limits(inFlight("jobs", 2)), limits(inFlight("jobs", 5))
	small.Clock, small.MaxEntries, large.Clock, large.MaxEntries = f.clock, 1<<12, f.clock, 1<<12
	for range 100 {
		require.NoError(t, f.Swap(large))
		var held []*engine.Ticket
		for range 5 {
			held = append(held, f.open("jobs", "u"))
		}
		var shrunk atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = f.Swap(small)
			shrunk.Store(true)
		})
		wg.Go(func() {
			for _, tk := range held {
				tk.Done(engine.Success)
			}
		})
		var inside []*engine.Ticket
		for range 20 {
			seen := shrunk.Load()
			if tk := f.open("jobs", "u"); tk.OK() {
				if inside = append(inside, tk); seen && len(inside) > 2 {
					t.Fatalf("%d were admitted", len(inside))
				}
			}
			if !seen {
				for _, tk := range inside {
					tk.Done(engine.Success)
				}
				inside = nil
			}
		}
		wg.Wait()
		for _, tk := range inside {
			tk.Done(engine.Success)
		}
		require.Zero(t, f.inUse("jobs"))
	}
}

// Requests that were admitted while a limit was off hold nothing of it, and
// those that hold something give it back while it is off.
func TestSwitchingALimitOffAndOnKeepsItsCount(t *testing.T) {
	f := start(t, limits(inFlight("jobs", 2)))
	require.NoError(t, f.SetMode("jobs", engine.Off))
	var free []*engine.Ticket
	for range 5 {
		free = append(free, f.open("jobs", "u"))
	}
	require.NoError(t, f.SetMode("jobs", engine.Enforce))
	for _, tk := range free {
		require.True(t, tk.OK())
		tk.Done(engine.Success)
	}
	require.Zero(t, f.inUse("jobs"))
	a, b, c := f.open("jobs", "u"), f.open("jobs", "u"), f.open("jobs", "u")
	require.True(t, a.OK() && b.OK())
	require.False(t, c.OK())
	require.NoError(t, f.SetMode("jobs", engine.Off))
	a.Done(engine.Success)
	require.NoError(t, f.SetMode("jobs", engine.Enforce))
	require.EqualValues(t, 1, f.inUse("jobs"))
	b.Done(engine.Success)
	for _, ok := range []bool{true, true, false} {
		require.Equal(t, ok, f.open("jobs", "u").OK())
	}
}

// Done twice, from many goroutines at once, gives back once.
func TestSurplusDonesChangeNothing(t *testing.T) {
	f := start(t, engine.Config{Limits: []engine.Limit{inFlight("jobs", 2)}, Gate: engine.Gate{Capacity: 2}})
	for range 100 {
		a, b := f.open("jobs", "u"), f.open("jobs", "u")
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { a.Done(engine.Success) })
		}
		wg.Wait()
		require.EqualValues(t, 1, f.inUse("jobs"))
		require.Equal(t, 1, f.Snapshot().Gate.Other)
		c, d := f.open("jobs", "u"), f.open("jobs", "u")
		require.True(t, c.OK())
		require.False(t, d.OK())
		for _, tk := range []*engine.Ticket{b, c, d, d} {
			tk.Done(engine.Success)
		}
	}
	require.EqualValues(t, 200, f.Snapshot().Misuse.DoubleDone, "a refused ticket owes nothing, however often")
	require.Zero(t, f.inUse("jobs"))
}

// Nobody who gives up waiting leaves anything behind.
func TestDoneWorksAfterClose(t *testing.T) {
	f := start(t, engine.Config{Limits: []engine.Limit{inFlight("jobs", 2)}, Gate: engine.Gate{Capacity: 2}})
	a := f.open("jobs", "u")
	require.NoError(t, f.Close())
	require.NoError(t, f.Close(), "closing twice is fine")
	a.Done(engine.Success)
	require.Zero(t, f.inUse("jobs"))
	require.Zero(t, f.Snapshot().Gate.Other)
	require.ErrorContains(t, f.Swap(limits(inFlight("jobs", 2))), "engine: ")
}

// Closed, an engine answers by each limit's fail policy.
func TestClosedEnginesFollowTheFailPolicy(t *testing.T) {
	login := tokens("login", 1, time.Hour, 1)
	login.Fail = engine.FailClosed
	f := start(t, limits(tokens("api", 1, time.Hour, 1), login))
	require.NoError(t, f.Close())
	for range 3 {
		tk := engine.Ticket{}
		tk = f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{engine.LimitID(1).Claim(f.Key("u"))}})
		require.True(t, tk.OK())
		tk.Done(engine.Success)
		tk = f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{engine.LimitID(2).Claim(f.Key("u"))}})
		require.Equal(t, engine.Closed, tk.Decision().Reason)
		tk.Done(engine.Success)
	}
}

// A ticket that is never given back shows, by limit and with its age.
func TestLeakedTicketsShow(t *testing.T) {
	f := start(t, limits(tokens("api", 1_000_000, time.Second, 1_000_000), inFlight("jobs", 10_000)))
	var leaked []*engine.Ticket
	for range 2000 { // tickets are sampled
		leaked = append(leaked, f.open("jobs", "u"))
	}
	f.clock.Advance(time.Hour)
	age := func() time.Duration { return f.Snapshot().Limits[1].OldestTicket }
	require.Equal(t, time.Hour, age())
	require.Zero(t, f.Snapshot().Limits[0].OldestTicket)
	for _, tk := range leaked {
		tk.Done(engine.Success)
	}
	require.Zero(t, age())
}
