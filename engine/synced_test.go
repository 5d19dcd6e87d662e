package engine_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// ledger is a fleet of one that counts in plain maps: every shared limit passes
// as much of a key as its burst or maximum says, and never refills.
type ledger struct {
	mu    sync.Mutex
	host  engine.SyncHost
	bound map[string]*account
}

func newLedger() *ledger { return &ledger{bound: map[string]*account{}} }

func (l *ledger) Start(h engine.SyncHost) error {
	l.host = h
	return nil
}
func (l *ledger) Snapshot() engine.FleetSnapshot { return engine.FleetSnapshot{} }
func (l *ledger) Close() error                   { return nil }

func (l *ledger) Bind(b engine.Binding) (engine.Shared, error) {
	a, kept := b.Prev.(*account)
	if !kept {
		a = &account{l: l, used: map[key.Key]int64{}}
	}
	a.max, a.refusal = b.Limit.Burst, engine.SharedStep{Reason: engine.Limited, RetryAfter: time.Minute}
	if b.Limit.Kind == engine.InFlight {
		a.max, a.refusal = b.Limit.Max, engine.SharedStep{Reason: engine.Full, RetryAfter: time.Second}
	}
	l.bound[b.Limit.Name] = a
	return a, nil
}

// account is one shared limit, and what it was asked.
type account struct {
	l       *ledger
	max     int64
	refusal engine.SharedStep
	used    map[key.Key]int64
	handed  []key.Key // by handle

	looks, takes, undos, told int
	undone                    int64 // when the last undo says it is
	// during, if not nil, runs at the end of calls, and before a known key is charged;
	// without the lock.
	during func(call string)
}

func (a *account) ran(call string) {
	if a.during != nil {
		a.during(call)
	}
}

func (a *account) Peek(k key.Key, _, cost int64) engine.SharedStep {
	defer a.ran("look")
	a.l.mu.Lock()
	defer a.l.mu.Unlock()
	a.looks++
	return a.step(k, cost)
}

func (a *account) step(k key.Key, cost int64) engine.SharedStep {
	if a.used[k]+cost > a.max {
		s := a.refusal
		s.Remaining = a.max - a.used[k]
		return s
	}
	return engine.SharedStep{Remaining: a.max - a.used[k]}
}

func (a *account) Take(k key.Key, _, cost int64) (engine.SharedStep, engine.Handle) {
	a.l.mu.Lock()
	defer a.l.mu.Unlock()
	s := a.step(k, cost)
	if s.Reason != engine.Admitted {
		return s, engine.Handle{}
	}
	a.takes++
	a.used[k] += cost
	s.Remaining -= cost
	a.handed = append(a.handed, k)
	return s, engine.Handle{ID: uint64(len(a.handed)), Cost: cost}
}

// A key is known once it was charged.
func (a *account) FitsKnown(k key.Key, _, cost int64) bool {
	defer a.ran("fits")
	return a.fits(k, cost)
}

func (a *account) fits(k key.Key, cost int64) bool {
	a.l.mu.Lock()
	defer a.l.mu.Unlock()
	_, known := a.used[k]
	return known && a.used[k]+cost <= a.max
}

func (a *account) TakeKnown(k key.Key, now, cost int64) (id, done, units uint64, left int64, ok bool) {
	a.ran("asked")
	defer a.ran("charged")
	if !a.fits(k, cost) {
		return 0, 0, 0, 0, false
	}
	s, h := a.Take(k, now, cost)
	return h.ID, h.Done, h.Units, s.Remaining, s.Reason == engine.Admitted
}

func (a *account) Undo(h engine.Handle, now int64) {
	defer a.ran("undo")
	a.l.mu.Lock()
	a.undone = now
	defer a.l.mu.Unlock()
	a.undos++
	a.used[a.handed[h.ID-1]] -= h.Cost
}

// Watch says when the engine tells of its modes.
func (a *account) Watch(bool) { a.ran("watch") }

func (a *account) Refused(key.Key, engine.SharedStep, int64, int64) {
	defer a.ran("refused")
	a.l.mu.Lock()
	defer a.l.mu.Unlock()
	a.told++
}

func (a *account) Done(id uint64, cost int64) {
	a.l.mu.Lock()
	defer a.l.mu.Unlock()
	a.used[a.handed[id-1]] -= cost
}

// shared is the limit as a fleet shares it.
func shared(l engine.Limit) engine.Limit {
	l.Sync = engine.Sync{Mode: engine.SyncShare}
	return l
}

var fleetSecret = []byte("0123456789abcdef")

func startShared(t *testing.T, cfg engine.Config) (*fixture, *ledger) {
	l := newLedger()
	cfg.Sync, cfg.Secret = l, fleetSecret
	return start(t, cfg), l
}

// Refused demand is demand: a shared limit hears of each request that it
// refused, once, and of none that can never fit.
func TestASharedLimitHearsOfItsRefusals(t *testing.T) {
	f, l := startShared(t, limits(shared(tokens("shared", 1, time.Hour, 3)), tokens("own", 1, time.Hour, 4), tokens("third", 1, time.Hour, 100)))
	a := l.bound["shared"]
	for _, names := range [][]string{{"shared"}, {"shared", "own"}, {"shared", "own", "third"}} {
		a.told = 0
		for range 3 {
			f.take("shared", "u", 1)
		}
		require.Zero(t, a.told)
		for n := range 5 {
			tk := f.request(engine.Read, "u", names...)
			require.Equal(t, "shared", f.LimitName(tk.Decision().Limit))
			require.Equal(t, n+1, a.told, "%v", names)
		}
		require.Equal(t, engine.NeverFits, f.take("shared", "u", 4).Reason)
		require.Equal(t, 5, a.told)
		f.Peek(engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("shared", "u", 1)}})
		require.Equal(t, 5, a.told, "a look asks for nothing")
		clear(a.used)
	}

	// It hears as much while it only watches.
	f, l = startShared(t, engine.Config{
		Limits: []engine.Limit{watched(shared(tokens("shared", 1, time.Hour, 3))), tokens("spent", 1, time.Hour, 1)},
		Gate:   engine.Gate{Capacity: 1},
	})
	a = l.bound["shared"]
	f.take("shared", "u", 3)
	f.take("spent", "u", 1)
	require.True(t, f.take("shared", "u", 1).OK())
	require.Equal(t, 1, a.told)
	tk := f.request(engine.Read, "u", "shared", "spent")
	require.False(t, tk.OK())
	require.Equal(t, 2, a.told, "of a request that another limit refuses")
	hold := f.Admit(engine.Request{Class: engine.Read})
	tk = f.request(engine.Read, "u", "shared")
	require.Equal(t, engine.Reserved, tk.Decision().Reason)
	require.Equal(t, 3, a.told, "of one that the gate refuses")
	hold.Done(engine.Success)
}

// On the short way a shared limit is asked once, of a key that is known: what is
// charged is not looked at before.
func TestASharedLimitIsChargedWithoutALook(t *testing.T) {
	f, l := startShared(t, engine.Config{
		Limits: []engine.Limit{
			shared(tokens("shared", 1, time.Hour, 100)), tokens("own", 1, time.Hour, 100), inFlight("jobs", 2), shared(inFlight("places", 2)),
		},
		Gate: engine.Gate{Capacity: 10},
	})
	a := l.bound["shared"]
	f.take("shared", "u", 1)
	f.take("places", "u", 1)
	f.take("own", "u", 1)
	f.take("jobs", "u", 1)
	for _, class := range []engine.Class{engine.Test, engine.Read, engine.Critical} {
		for _, names := range [][]string{{"shared"}, {"shared", "own"}, {"own", "shared"}, {"shared", "jobs"}, {"jobs", "shared"}, {"shared", "places"}, {"places", "shared"}} {
			looks, takes := a.looks, a.takes
			tk := f.request(class, "u", names...)
			require.True(t, tk.OK())
			tk.Done(engine.Success)
			require.Equal(t, looks, a.looks, "%v %v", class, names)
			require.Equal(t, takes+1, a.takes)
		}
	}
	require.Zero(t, f.inUse("jobs"))
}

// What the fleet allows this instance bounds its gate: so many non-critical
// requests until the lease ends and fewer afterwards, and of all together the
// total, under which a few critical ones never fall.
func TestALeaseBoundsTheGate(t *testing.T) {
	wake := make(chan struct{}, 1)
	enter := func(f *fixture, class engine.Class, n int) (in []*engine.Ticket) {
		for range n {
			if tk := f.Admit(engine.Request{Class: class}); tk.OK() {
				in = append(in, &tk)
			}
		}
		return in
	}
	leave := func(ts []*engine.Ticket) {
		for _, tk := range ts {
			tk.Done(engine.Success)
		}
	}
	begin := func(g engine.Gate, l engine.GateLease) *fixture {
		f, fleet := startShared(t, engine.Config{Gate: g})
		l.Until += fleet.host.Now()
		fleet.host.LeaseGate(l)
		require.Equal(t, g.Capacity, fleet.host.GateUse().Capacity)
		return f
	}
	second := int64(time.Second)

	t.Run("until it ends and afterwards", func(t *testing.T) {
		f, fleet := startShared(t, engine.Config{Gate: engine.Gate{Capacity: 10, Reserve: 0.2}})
		fleet.host.LeaseGate(engine.GateLease{Until: second, Other: 3, Fallback: 1, Wake: wake})
		in := enter(f, engine.Read, 3)
		require.Len(t, in, 3)
		require.Empty(t, wake)
		require.Empty(t, enter(f, engine.Write, 1))
		require.Len(t, wake, 1, "the fleet is told that more is wanted")
		require.Empty(t, enter(f, engine.Write, 1))
		u := fleet.host.GateUse()
		require.Equal(t, engine.GateUse{Capacity: 10, Reserve: 0.2, Other: 3, Peak: 3, Refused: 2}, u)
		leave(in[:2])
		u = fleet.host.GateUse()
		require.Equal(t, engine.GateUse{Capacity: 10, Reserve: 0.2, Other: 1, Peak: 1}, u, "since the last look")
		f.clock.Advance(time.Second)
		in = append(in[2:], enter(f, engine.Read, 5)...)
		require.Len(t, in, 3, "its last instant belongs to it")
		leave(in)
		f.clock.Drift(1) // not published yet
		require.Len(t, enter(f, engine.Read, 5), 1)
		require.Len(t, enter(f, engine.Critical, 20), 20, "no total: critical requests are not bounded")
	})
	t.Run("it stands in for the allocation", func(t *testing.T) {
		f := begin(engine.Gate{Capacity: 10, Reserve: 0.2}, engine.GateLease{Until: second, Other: 15, Fallback: 2})
		require.Len(t, enter(f, engine.Read, 20), 15, "what others in the fleet do not use")
	})
	t.Run("the total", func(t *testing.T) {
		f := begin(engine.Gate{Capacity: 10, Reserve: 0.2}, engine.GateLease{Until: second, Other: 9, Fallback: 9, Total: 5, Critical: 2})
		others := enter(f, engine.Read, 20)
		require.Len(t, others, 5)
		critical := enter(f, engine.Critical, 20)
		require.Len(t, critical, 2, "these pass whatever the total says")
		leave(others[:3])
		require.Len(t, enter(f, engine.Critical, 20), 1)
		require.Empty(t, enter(f, engine.Read, 1))
	})
	t.Run("the gate's own hard cap is not raised", func(t *testing.T) {
		f := begin(engine.Gate{Capacity: 10, HardCap: 4}, engine.GateLease{Until: second, Other: 9, Fallback: 9, Total: 6, Critical: 2})
		require.Len(t, enter(f, engine.Read, 20), 4)
		require.Empty(t, enter(f, engine.Critical, 20))
	})
	t.Run("a look says what it allows", func(t *testing.T) {
		f := begin(engine.Gate{Capacity: 10, HardCap: 8}, engine.GateLease{Until: second, Other: 3, Fallback: 1, Total: 4, Critical: 2})
		agree := func(class engine.Class) bool {
			d := f.Peek(engine.Request{Class: class})
			tk := f.Admit(engine.Request{Class: class})
			require.Equal(t, tk.Decision(), d)
			t.Cleanup(func() { tk.Done(engine.Success) })
			return tk.OK()
		}
		for _, want := range []bool{true, true, true, false} {
			require.Equal(t, want, agree(engine.Write))
		}
		for _, want := range []bool{true, true, false} { // up to the total, and those that pass it
			require.Equal(t, want, agree(engine.Critical))
		}
		f.clock.Advance(time.Second + 1)
		require.False(t, agree(engine.Write))
		f, _ = startShared(t, engine.Config{Gate: engine.Gate{Capacity: 10}})
		f.clock.Advance(time.Second)
		require.True(t, agree(engine.Write), "no lease")
		f = begin(engine.Gate{Capacity: 10}, engine.GateLease{Until: second, Other: 3, Fallback: 1})
		require.True(t, agree(engine.Write))
		f.clock.Advance(time.Second)
		require.True(t, agree(engine.Write), "its last instant belongs to it")
		f.clock.Drift(1)
		require.False(t, agree(engine.Write), "and no more than this once it has ended")
	})
	t.Run("a new lease forgets no peak and no refusal", func(t *testing.T) {
		f, fleet := startShared(t, engine.Config{Gate: engine.Gate{Capacity: 10}})
		l := engine.GateLease{Until: second, Other: 2, Fallback: 2}
		fleet.host.LeaseGate(l)
		leave(enter(f, engine.Read, 3))
		fleet.host.LeaseGate(l)
		u := fleet.host.GateUse()
		require.Equal(t, engine.GateUse{Capacity: 10, Peak: 2, Refused: 1}, u)
	})
}
