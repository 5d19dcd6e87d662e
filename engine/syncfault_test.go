package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// A fleet that panics in one of its calls, on the shorter way for known keys or
// on the long one: nothing escapes, the fault is counted, the limit follows its
// fail policy where it cannot be asked at all, and of what was charged before
// everything is given back, once.
func TestAFaultOfTheFleetLeavesNothingBehind(t *testing.T) {
	for _, broken := range []string{"shared", "places"} {
		for _, call := range []string{"fits", "asked", "look", "refused"} {
			for _, fail := range []engine.Fail{engine.FailOpen, engine.FailClosed} {
				bucket, places := shared(tokens("shared", 1, time.Hour, 8)), shared(inFlight("places", 3))
				bucket.Fail, places.Fail = fail, fail
				f, l := startShared(t, engine.Config{
					Limits: []engine.Limit{bucket, places, tokens("own", 1, time.Hour, 1000), inFlight("jobs", 3)},
					Gate:   engine.Gate{Capacity: 3},
				})
				for _, name := range []string{"shared", "places", "own", "jobs"} {
					require.True(t, f.take(name, "u", 1).OK()) // known from here on
				}
				faults, asked := 0, uint64(4)
				l.bound[broken].during = func(c string) {
					if c == call {
						faults++
						panic(c)
					}
				}
				for _, names := range [][]string{{broken}, {broken, "own"}, {"own", broken}, {broken, "jobs"}, {"jobs", broken}, {"shared", "places"}, {"places", "shared"}} {
					var open []*engine.Ticket
					for range 5 { // more than there are places
						tk := f.request(engine.Read, "u", names...)
						if d := tk.Decision(); d.Reason == engine.Closed {
							require.Equal(t, engine.FailClosed, fail)
							require.Equal(t, broken, f.LimitName(d.Limit))
						}
						open = append(open, &tk)
						asked++
					}
					for _, tk := range open {
						tk.Done(engine.Success)
						tk.Done(engine.Success)
					}
					s := f.Snapshot()
					require.Zero(t, s.Gate.Other, "%s of %s, %v", call, broken, names)
					require.Zero(t, s.Limits[3].InFlight)
					require.Zero(t, l.bound["places"].used[f.Key("u")], "%s of %s, %v", call, broken, names)
					require.EqualValues(t, faults, s.Faults, "each is counted")
					require.Equal(t, asked, outcomes(s), "each request once: %s of %s, %v", call, broken, names)
				}
				if broken == "shared" || call != "fits" { // only of the bucket is that asked
					require.Positive(t, faults, "%s of %s", call, broken)
				}
			}
		}
	}
}

// outcomes is how many requests were admitted or refused.
func outcomes(s engine.Snapshot) (n uint64) {
	for c := range s.Admitted {
		n += s.Admitted[c] + s.Gate.Refused[c] + s.Ladder.Refused[c]
		for _, l := range s.Limits {
			for _, refused := range l.Refused[c] {
				n += refused
			}
		}
	}
	return n
}

// A fault of a limit that only watches, met while it is told of a request that a
// layer refuses, changes no count.
func TestAFaultOfAWatchingLimitCountsNoRefusalTwice(t *testing.T) {
	var l load
	f, fleet := startShared(t, engine.Config{
		Limits: []engine.Limit{watched(shared(tokens("shared", 1, time.Hour, 1))), tokens("own", 1, time.Hour, 9)},
		Gate:   engine.Gate{Capacity: 1}, Ladder: engine.Ladder{Signal: l.read},
	})
	f.take("shared", "u", 1)
	fleet.bound["shared"].during = func(call string) {
		if call == "refused" {
			panic(call)
		}
	}
	held := f.request(engine.Read, "u", "own")
	for range 3 {
		tk := f.request(engine.Test, "u", "own", "shared")
		require.Equal(t, engine.Reserved, tk.Decision().Reason)
	}
	l.set(3)
	f.clock.Advance(time.Minute)
	for range 3 {
		tk := f.request(engine.Test, "u", "shared", "own")
		require.Equal(t, engine.Shed, tk.Decision().Reason)
	}
	held.Done(engine.Success)
	require.EqualValues(t, 8, outcomes(f.Snapshot()))
	require.EqualValues(t, 6, f.Snapshot().Faults)
}

// A charge on a shared limit whose request then loses a race for the limit beside
// it is undone, at a time that is read after it; the request is decided anew.
func TestALostRaceBesideASharedLimitIsUndone(t *testing.T) {
	for _, name := range []string{"shared", "places"} {
		for _, beside := range []string{"own", "jobs"} {
			f, l := startShared(t, engine.Config{
				Limits: []engine.Limit{
					shared(tokens("shared", 1, time.Hour, 9)), shared(inFlight("places", 9)), tokens("own", 1, time.Hour, 5), inFlight("jobs", 5),
				},
				Gate: engine.Gate{Capacity: 5},
			})
			for _, n := range []string{"shared", "places", "own", "jobs"} {
				require.True(t, f.take(n, "u", 1).OK())
			}
			a := l.bound[name]
			used := a.used[f.Key("u")]
			var other engine.Ticket
			a.during = func(call string) {
				if call == "charged" {
					a.during = nil
					f.clock.Drift(time.Second)
					other = f.request(engine.Read, "u", beside)
				}
			}
			tk := f.request(engine.Read, "u", name, beside)
			require.True(t, tk.OK())
			require.True(t, other.OK())
			require.Equal(t, 1, a.undos)
			require.Equal(t, int64(time.Second), a.undone)
			require.Equal(t, used+1, a.used[f.Key("u")])
			require.EqualValues(t, 2, f.Snapshot().Gate.Other)
			tk.Done(engine.Success)
			other.Done(engine.Success)
			require.Zero(t, f.Snapshot().Gate.Other)
			require.Zero(t, f.inUse("jobs"))
			require.Zero(t, l.bound["places"].used[f.Key("u")])
		}
	}
}

// A bucket that a race has emptied since it was looked at takes no place with it.
func TestALostRaceForASharedBucketGivesThePlaceBack(t *testing.T) {
	f, l := startShared(t, engine.Config{
		Limits: []engine.Limit{shared(tokens("shared", 1, time.Hour, 3)), shared(inFlight("places", 3))},
		Gate:   engine.Gate{Capacity: 5},
	})
	f.take("shared", "u", 1)
	f.take("places", "u", 1)
	k := f.Key("u")
	l.bound["places"].during = func(call string) {
		if call == "charged" {
			l.bound["shared"].used[k] = 3
		}
	}
	tk := f.request(engine.Read, "u", "shared", "places")
	d := tk.Decision()
	require.Equal(t, engine.Decision{Reason: engine.Limited, Layer: engine.Rate, Limit: 1, RetryAfter: time.Minute}, d)
	tk.Done(engine.Success)
	require.Zero(t, l.bound["places"].used[k])
	require.Zero(t, f.Snapshot().Gate.Other)

	// One that is not known any more is met on the long way, and the place given
	// back once.
	f.take("shared", "v", 1)
	f.take("places", "v", 1)
	k = f.Key("v")
	l.bound["places"].during = func(call string) {
		if call == "charged" {
			l.bound["places"].during = nil
			delete(l.bound["shared"].used, k)
		}
	}
	tk = f.request(engine.Read, "v", "shared", "places")
	require.True(t, tk.OK())
	require.EqualValues(t, 1, l.bound["places"].used[k])
	tk.Done(engine.Success)
	require.Zero(t, l.bound["places"].used[k])
	require.EqualValues(t, 1, l.bound["shared"].used[k])
}

// What the gate's lease refuses is told to the fleet; what the request's own limit
// refuses is not: no place would help it.
func TestTheFleetHearsOnlyOfRequestsThatAPlaceWouldHelp(t *testing.T) {
	f, l := startShared(t, engine.Config{
		Limits: []engine.Limit{shared(tokens("shared", 1, time.Hour, 2)), tokens("own", 1, time.Hour, 2), shared(inFlight("places", 2))},
		Gate:   engine.Gate{Capacity: 10},
	})
	for _, name := range []string{"shared", "own", "places"} {
		for _, key := range []string{"fits", "spent"} {
			f.take(name, key, 1)
		}
	}
	f.take("shared", "spent", 1)
	wake := make(chan struct{}, 1)
	l.host.LeaseGate(engine.GateLease{Until: int64(time.Hour), Wake: wake})
	for _, names := range [][]string{{"shared"}, {"shared", "own"}, {"shared", "places"}} {
		for _, class := range []engine.Class{engine.Read, engine.ClassUnset} {
			tk := f.request(class, "spent", names...)
			require.Equal(t, engine.Limited, tk.Decision().Reason)
			require.Zero(t, l.host.GateUse().Refused, "%v", names)
			require.Empty(t, wake)
			tk = f.request(class, "fits", names...)
			require.Equal(t, engine.Reserved, tk.Decision().Reason)
			require.EqualValues(t, 1, l.host.GateUse().Refused, "%v", names)
			<-wake
		}
	}

	// A fleet that is gone does not take requests with it.
	close(wake)
	for _, class := range []engine.Class{engine.Read, engine.ClassUnset} {
		tk := f.request(class, "fits", "own")
		require.Equal(t, engine.Reserved, tk.Decision().Reason)
	}
	require.EqualValues(t, 2, f.Snapshot().Faults)
}
