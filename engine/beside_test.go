package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/gate"
)

// Do runs the work if the request is admitted, and gives everything back
// whatever becomes of it.
func TestDoGivesBackWhateverHappens(t *testing.T) {
	f := start(t, engine.Config{Limits: []engine.Limit{inFlight("jobs", 1)}, Gate: engine.Gate{Capacity: 1}})
	req := engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("jobs", "u", 1)}}
	ctx := context.Background()
	boom := errors.New("boom")
	inside := func() {
		require.EqualValues(t, 1, f.inUse("jobs"))
		require.Equal(t, 1, f.Snapshot().Gate.Other)
		err := f.Do(ctx, req, func(context.Context) error { t.Fatal("runs"); return nil })
		var refused *engine.RefusedError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, engine.Full, refused.Reason)
		require.ErrorContains(t, err, `limit "jobs"`)
	}
	require.NoError(t, f.Do(ctx, req, func(context.Context) error { inside(); return nil }))
	require.ErrorIs(t, f.Do(ctx, req, func(context.Context) error { inside(); return boom }), boom)
	for range 1000 {
		require.PanicsWithValue(t, "work", func() {
			_ = f.Do(ctx, req, func(context.Context) error { panic("work") })
		})
	}
	var wg sync.WaitGroup
	wg.Go(func() { // runtime.Goexit inside, as t.FailNow does
		_ = f.Do(ctx, req, func(context.Context) error { runtime.Goexit(); return nil })
	})
	wg.Wait()
	require.Zero(t, f.inUse("jobs"))
	require.Zero(t, f.Snapshot().Gate.Other)
	require.NoError(t, f.Do(ctx, req, func(context.Context) error { return nil }))
	require.Zero(t, f.Snapshot().Misuse.DoubleDone)
}

// Wait admits as soon as the key can pass, to the nanosecond.
func TestWaitWaitsForTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, limits(tokens("api", 1, time.Second, 1)))
		require.True(t, f.take("api", "u", 1).OK())
		req := engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("api", "u", 1)}}
		var passed atomic.Bool
		go func() {
			tk, err := f.Wait(context.Background(), req)
			if err == nil {
				tk.Done(engine.Success)
				passed.Store(true)
			}
		}()
		synctest.Wait()
		f.clock.Advance(time.Second - 1)
		synctest.Wait()
		require.False(t, passed.Load())
		f.clock.Advance(1)
		synctest.Wait()
		require.True(t, passed.Load())
	})
}

// A waiter looks many times for a place that comes free, and is one request.
func TestAWaiterIsCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, engine.Config{Limits: []engine.Limit{inFlight("jobs", 1)}})
		a := f.open("jobs", "u")
		req := engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("jobs", "u", 1)}}
		passed := make(chan error, 1)
		go func() {
			tk, err := f.Wait(context.Background(), req)
			tk.Done(engine.Success)
			passed <- err
		}()
		for range 100 {
			synctest.Wait()
			f.clock.Advance(50 * time.Millisecond)
		}
		a.Done(engine.Success)
		synctest.Wait()
		f.clock.Advance(50 * time.Millisecond)
		require.NoError(t, <-passed)
		s := f.Snapshot()
		require.EqualValues(t, 1, s.Limits[0].Refused[engine.Read][engine.Full])
		require.EqualValues(t, 2, s.Admitted[engine.Read])
		require.Zero(t, f.inUse("jobs"))
	})
}

// Whoever gives up waiting leaves nothing behind, and what cannot be waited for
// fails at once.
func TestGivingUpLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := start(t, engine.Config{Limits: []engine.Limit{inFlight("jobs", 1), tokens("slow", 1, time.Hour, 1)}})
		a := f.open("jobs", "u")
		req := engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("jobs", "u", 1)}}
		ctx, cancel := context.WithCancel(context.Background())
		gaveUp := make(chan error, 1)
		go func() {
			_, err := f.Wait(ctx, req)
			gaveUp <- err
		}()
		f.clock.Advance(100 * time.Millisecond)
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-gaveUp, context.Canceled)
		a.Done(engine.Success)
		require.Zero(t, f.inUse("jobs"))
		c := f.open("jobs", "u")
		require.True(t, c.OK())
		require.EqualValues(t, 1, f.inUse("jobs"))
		c.Done(engine.Success)

		require.True(t, f.take("slow", "u", 1).OK())
		var refused *engine.RefusedError
		deadline, stop := context.WithTimeout(context.Background(), time.Minute)
		defer stop()
		_, err := f.Wait(deadline, engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("slow", "u", 1)}})
		require.ErrorAs(t, err, &refused, "an hour does not fit into a minute")
		require.Greater(t, refused.RetryAfter, 59*time.Minute)
		_, err = f.Wait(context.Background(), engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("slow", "u", 2)}})
		require.ErrorAs(t, err, &refused)
		require.Equal(t, engine.NeverFits, refused.Reason)
		_, err = f.Wait(ctx, req)
		require.ErrorIs(t, err, context.Canceled)
		require.Zero(t, f.inUse("jobs"))
	})
}

// Peek and Explain say what Admit would, and change nothing.
func TestPeekSaysWhatAdmitWould(t *testing.T) {
	var l load
	f := start(t, engine.Config{
		Limits: []engine.Limit{tokens("api", 1, time.Hour, 3), inFlight("jobs", 2), watched(tokens("new", 1, time.Hour, 1))},
		Gate:   engine.Gate{Capacity: 3},
		Ladder: engine.Ladder{Signal: l.read},
	})
	req := func(names ...string) engine.Request {
		r := engine.Request{Class: engine.Read}
		for _, n := range names {
			r.Claims = append(r.Claims, f.claim(n, "u", 1))
		}
		return r
	}
	agree := func(r engine.Request) engine.Decision {
		t.Helper()
		before := f.Snapshot()
		for range 3 {
			f.Peek(r)
			f.Explain(r)
		}
		after := f.Snapshot()
		before.At, after.At = time.Time{}, time.Time{}
		require.Equal(t, before, after)
		peeked := f.Peek(r)
		tk := f.Admit(r)
		require.Equal(t, tk.Decision(), peeked)
		if tk.OK() {
			t.Cleanup(func() { tk.Done(engine.Success) })
		}
		return tk.Decision()
	}
	require.True(t, agree(req()).OK())
	require.True(t, agree(req("api", "jobs", "new")).OK())
	require.True(t, agree(req("jobs", "api", "new")).OK())
	require.Equal(t, engine.Full, agree(req("api", "jobs")).Reason)
	require.Equal(t, engine.Reserved, agree(req("api")).Reason)
	l.set(3)
	f.clock.Advance(2 * time.Minute)
	require.Equal(t, engine.Shed, agree(req("api")).Reason)
	require.Equal(t, engine.NeverFits, agree(engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("api", "u", 9)}}).Reason)

	// What is wrong with a request is counted when it is admitted or refused.
	agree(engine.Request{})
	for _, broken := range [][]engine.Claim{
		{f.claim("api", "u", -1)}, {{}}, {f.claim("api", "u", 1), f.claim("api", "v", 1)}, make([]engine.Claim, engine.MaxClaims+1),
	} {
		agree(engine.Request{Class: engine.Critical, Claims: broken})
	}
	s := f.Snapshot()
	require.EqualValues(t, 1, s.Unclassified)
	require.Equal(t, engine.Misuse{Negative: 1, UnknownLimit: 1, Twice: 1, TooMany: 1}, s.Misuse)

	names := []string{}
	for _, v := range f.Explain(req("api", "jobs", "new")) {
		names = append(names, v.Name)
		require.Equal(t, v.Name != "new", v.Enforced)
	}
	require.Equal(t, []string{"api", "jobs", "new", "worker", "fleet"}, names)
}

// What Do tells the gate of is what became of the work: errors are overload,
// success is none, and a caller that went away says nothing.
func TestDoTellsWhatBecameOfTheWork(t *testing.T) {
	capacity := func(err error) int {
		f := start(t, engine.Config{Gate: engine.Gate{Adaptive: &gate.AdaptiveConfig{Initial: 100}}})
		for range 200 {
			got := f.Do(context.Background(), engine.Request{Class: engine.Read}, func(context.Context) error {
				f.clock.Advance(10 * time.Millisecond)
				return err
			})
			require.ErrorIs(t, got, err)
		}
		return f.Snapshot().Gate.Capacity
	}
	require.Equal(t, 100, capacity(nil))
	require.Equal(t, 100, capacity(fmt.Errorf("left: %w", context.Canceled)))
	require.Less(t, capacity(errors.New("overload")), 100)
}

// A waiter looks less and less often, up to twenty times a second, for a place
// that no clock foretells; tokens it waits for once.
func TestAWaiterLooksLessOftenTheLongerItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, l := startShared(t, limits(shared(inFlight("jobs", 1)), shared(tokens("api", 1, time.Hour, 1))))
		looks := func(limit string, millis int) int {
			a := l.bound[limit]
			k := f.Key("u")
			a.used[k] = 1
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := f.Wait(ctx, engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim(limit, "u", 1)}})
				ended <- err
			}()
			synctest.Wait()
			before := a.looks
			for range millis {
				f.clock.Advance(time.Millisecond)
				synctest.Wait()
			}
			stop()
			require.ErrorIs(t, <-ended, context.Canceled)
			return a.looks - before
		}
		require.Equal(t, 5, looks("jobs", 31), "after 1, 3, 7, 15 and 31 ms")
		require.Equal(t, 6+18, looks("jobs", 1000), "and every 50 ms from then on")
		require.Zero(t, looks("api", 59_999))
		require.Equal(t, 1, looks("api", 60_001), "what it was told is a minute")
	})
}

// On the real clock, too.
func TestWaitOnTheRealClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := engine.Must(engine.New(engine.Config{Limits: []engine.Limit{tokens("api", 1, time.Second, 1)}, Ladder: engine.Ladder{Mode: engine.Off}, MaxEntries: 100}))
		req := engine.Request{Class: engine.Read, Claims: []engine.Claim{engine.LimitID(1).Claim(e.Key("u"))}}
		begin := time.Now()
		for n := range 3 {
			tk, err := e.Wait(t.Context(), req)
			require.NoError(t, err)
			tk.Done(engine.Success)
			require.InDelta(t, time.Duration(n)*time.Second, time.Since(begin), float64(2*time.Millisecond))
		}
		require.NoError(t, e.Close())
	})
}

// Refused for want of time, a waiter has charged nothing.
func TestAWaitThatIsTooLongChargesNothing(t *testing.T) {
	f := start(t, limits(tokens("api", 1, time.Second, 10), tokens("wide", 1, time.Hour, 100)))
	require.True(t, f.take("api", "u", 5).OK())
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	for range 3 {
		_, err := f.Wait(ctx, engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("wide", "u", 1), f.claim("api", "u", 8)}})
		var refused *engine.RefusedError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, 3*time.Second, refused.RetryAfter)
	}
	require.EqualValues(t, 5, f.left("api", "u"))
	require.EqualValues(t, 100, f.left("wide", "u"))
}

// Of a request that cannot be decided Peek says what Admit would: the strictest
// fail policy.
func TestPeekFollowsTheFailPolicy(t *testing.T) {
	login := tokens("login", 1, time.Hour, 5)
	login.Fail = engine.FailClosed
	f := start(t, limits(login, tokens("api", 1, time.Hour, 5)))
	for name, want := range map[string]engine.Decision{
		"login": {Reason: engine.Closed, Layer: engine.Rate, Limit: 1, RetryAfter: time.Second},
		"api":   {Remaining: -1},
	} {
		twice := engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim(name, "u", 1), f.claim(name, "v", 1)}}
		require.Equal(t, want, f.Peek(twice), name)
		tk := f.Admit(twice)
		require.Equal(t, want, tk.Decision(), name)
		tk.Done(engine.Success)
	}
}
