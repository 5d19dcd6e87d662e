package engine_test

import (
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
)

// The ticket of a lone claim says what was decided, whatever becomes of the limit and
// of the engine: what is left is counted when somebody asks, in the tokens of then.
func TestALoneTicketSaysWhatWasDecided(t *testing.T) {
	api := tokens("api", 10, time.Second, 100)
	for name, change := range map[string]func(*fixture) error{
		"another rate and burst":  func(f *fixture) error { return f.swap(tokens("api", 1000, time.Second, 5)) },
		"a rate that starts anew": func(f *fixture) error { return f.swap(tokens("api", 1, 30*24*time.Hour, 1)) },
		"another kind":            func(f *fixture) error { return f.swap(inFlight("api", 1)) },
		"removed":                 func(f *fixture) error { return f.swap() },
		"switched off":            func(f *fixture) error { return f.SetMode("api", engine.Off) },
		"closed":                  func(f *fixture) error { return f.Close() },
		"later":                   func(f *fixture) error { f.clock.Advance(time.Hour); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, limits(api))
			f.take("api", "u", 10)
			tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("api", "u", 7)}})
			late := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("api", "u", 3)}})
			want, wantLate := engine.Decision{Limit: 1, Remaining: 83}, engine.Decision{Limit: 1, Remaining: 80}
			require.Equal(t, want, tk.Decision())
			require.NoError(t, change(f))
			require.True(t, tk.OK())
			require.Equal(t, want, tk.Decision())
			require.Equal(t, wantLate, late.Decision(), "asked for the first time")
			tk.Done(engine.Success)
			late.Done(engine.Success)
			require.True(t, tk.OK(), "done, and still admitted")
			require.Equal(t, want, tk.Decision())
			require.Zero(t, f.Snapshot().Misuse.DoubleDone)
			require.Zero(t, f.Snapshot().Faults)
		})
	}
}

// A ticket that holds nothing can be done once as well.
func TestASecondDoneOfALoneTicketIsCounted(t *testing.T) {
	f := start(t, limits(tokens("api", 10, time.Second, 100)))
	for n := range uint64(5) {
		tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{f.claim("api", "u", 1)}})
		require.True(t, tk.OK())
		tk.Done(engine.Success)
		require.Equal(t, 2*n, f.Snapshot().Misuse.DoubleDone)
		tk.Done(engine.Success)
		tk.Done(engine.Dropped)
		require.Equal(t, 2*n+2, f.Snapshot().Misuse.DoubleDone)
		tk.Settle(1, 5)
		require.Equal(t, n+1, f.Snapshot().Misuse.Settle, "and it has nothing to settle")
	}
	require.EqualValues(t, 95, f.left("api", "u"))
}

// A process that stood still for so long that a bucket's clock has gone more than half
// way round its ring: keys never seen are given their burst and their rate.
func TestAStandstillOfMoreThanHalfARing(t *testing.T) {
	f := start(t, limits(tokens("api", 1, time.Second, 10)))
	require.NoError(t, f.swap(tokens("api", 1000, time.Second, 10))) // a thousand units a ns: half a ring is ten hours
	f.clock.Drift(11 * time.Hour)
	f.clock.Advance(time.Millisecond)
	for _, who := range []string{"a", "b"} {
		require.Equal(t, 10, f.admitted("api", who, 30))
		require.Equal(t, time.Millisecond, f.take("api", who, 1).RetryAfter)
		f.clock.Advance(time.Second)
		require.Equal(t, 10, f.admitted("api", who, 30))
	}
}

// Lone claims are decided while modes are set, limits loaded, others removed and,
// last, the engine is closed: what the bucket gives is its burst, none is lost, and
// each is counted once.
func TestLoneClaimsWhileEverythingChanges(t *testing.T) {
	const burst = 20_000
	cfg := limits(tokens("api", 1, 10*time.Hour, burst), tokens("toggled", 1e9, time.Second, 1<<31), tokens("guest", 1e9, time.Second, 1<<31))
	cfg.Limits[0].Fail = engine.FailClosed
	f := start(t, cfg)
	api, toggled, guest := f.claim("api", "u", 1), f.claim("toggled", "u", 1), f.claim("guest", "u", 1)
	var granted, admitted, closed, refused atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for g := range 3 {
		wg.Go(func() {
			for n := g; !stop.Load(); n++ {
				claim := []engine.Claim{api, toggled, guest}[n%3]
				tk := f.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{claim}})
				switch d := tk.Decision(); {
				case d.Reason == engine.Closed && claim == api:
					closed.Add(1)
				case !d.OK() && claim != api:
					t.Error("refused by a bucket that is never empty")
				case !d.OK():
					refused.Add(1)
				default:
					if admitted.Add(1); claim == api {
						granted.Add(1)
					}
				}
				tk.Done(engine.Success)
			}
		})
	}
	rnd := rand.New(rand.NewPCG(4, 4))
	modes := []engine.Mode{engine.Enforce, engine.Shadow, engine.Off, engine.Ramp(0.5, 0.5)}
	for i := 0; i < 300 || granted.Load() < burst; i++ {
		require.NoError(t, f.SetMode("toggled", modes[rnd.IntN(len(modes))]))
		next := f.config(cfg)
		next.Limits = append([]engine.Limit{}, cfg.Limits[:2+i%2]...)
		next.Limits[1].Burst -= rnd.Int64N(1 << 30)
		require.NoError(t, f.Swap(next), strconv.Itoa(i))
		f.clock.Advance(time.Second) // table ids come free with time
		runtime.Gosched()
	}
	before := f.Snapshot()
	require.NoError(t, f.Close())
	for closed.Load() == 0 {
		runtime.Gosched()
	}
	stop.Store(true)
	wg.Wait()
	require.EqualValues(t, burst, granted.Load())
	s := f.Snapshot()
	require.EqualValues(t, admitted.Load(), s.Admitted[engine.Read])
	require.GreaterOrEqual(t, s.Admitted[engine.Read], before.Admitted[engine.Read])
	require.EqualValues(t, refused.Load(), s.Limits[0].Refused[engine.Read][engine.Limited])
	require.EqualValues(t, closed.Load(), s.Limits[0].Refused[engine.Read][engine.Closed])
	require.Zero(t, s.Faults)
	require.Zero(t, s.Misuse)
}
