package fleet_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleettest"
)

// logged collects what is logged.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// odd is a store that answers what no store may, or whose clock is elsewhere.
type odd struct {
	*fleettest.Transport
	mu     sync.Mutex
	broken int // batches that are answered as done, without an answer
	ahead  time.Duration
}

func (o *odd) Push(ctx context.Context, boot fleet.Boot, batches []*fleet.Batch) {
	o.Transport.Push(ctx, boot, batches)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, b := range batches {
		if len(b.Items) > 0 && o.broken > 0 {
			o.broken--
			b.Answers = nil
		}
	}
}

func (o *odd) Check(context.Context, time.Time) fleet.Report { return fleet.Report{Ahead: o.ahead} }

// A fault in the exchange itself ends in no process: it starts anew, as an
// instance that nobody has heard of, and the limit stands meanwhile.
func TestTheExchangeStartsAnewAfterAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		o := &odd{Transport: fleettest.NewTransport(2), ahead: -5 * time.Second}
		f, err := fleet.New(fleet.Config{Transport: o})
		require.NoError(t, err)
		l := tokenBucket(100, 20)
		e := engine.Must(engine.New(engine.Config{Limits: []engine.Limit{l}, Secret: []byte("the same on every instance"), Sync: f,
			Logger: slog.New(slog.NewTextHandler(&log, nil))}))
		defer e.Close()
		id, _ := e.Limit(l.Name)
		admitted := 0
		drive := func(lasts time.Duration) {
			for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
				for _, user := range []string{"alice", "new at " + time.Now().String()} { // a key that is not known yet too
					tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(e.Key(user))}})
					if tk.OK() && user == "alice" {
						admitted++
					}
					tk.Done(engine.Success)
				}
			}
		}
		drive(2 * time.Second)
		require.Zero(t, e.Snapshot().Fleet.Restarts)
		o.mu.Lock()
		o.broken = 3
		o.mu.Unlock()
		drive(8 * time.Second)
		s := e.Snapshot().Fleet
		require.Contains(t, []uint64{2, 3}, s.Restarts, "one call may carry two batches")
		require.Zero(t, s.Down)
		require.Less(t, s.SyncAge, time.Second)
		require.Contains(t, log.String(), "failed and starts anew")
		require.Contains(t, log.String(), "this clock and the store's are apart")
		require.InDelta(t, 20+100*10, admitted, 60)
	})
}

// stuck is the host of a fleet whose loop does not run.
type stuck struct {
	start time.Time
	log   *slog.Logger
}

func (h stuck) Now() int64                 { return int64(time.Since(h.start)) + 1 }
func (h stuck) Wall() time.Time            { return time.Now() }
func (h stuck) Logger() *slog.Logger       { return h.log }
func (h stuck) GateUse() engine.GateUse    { return engine.GateUse{} }
func (h stuck) LeaseGate(engine.GateLease) {}

// An exchange that does not come round any more is as good as a store that is
// away: what the fleet said last does not stand for ever.
func TestALoopThatIsStuckIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logged
		f, err := fleet.New(fleet.Config{Transport: shards(4), Expected: 4})
		require.NoError(t, err)
		f.Manual(stuck{time.Now(), slog.New(slog.NewTextHandler(&log, nil))}, 1)
		l := tokenBucket(100, 100)
		l.Sync.OnStale = engine.StaleClosed
		api, err := f.Bind(engine.Binding{ID: 1, Limit: l, Rule: rule(t, l)})
		require.NoError(t, err)
		now := func() int64 { return int64(time.Since(time.Unix(946684800, 0))) + 1 }
		step, _ := api.Take(user, now(), 1)
		require.Equal(t, engine.Admitted, step.Reason)
		stop := f.Watchdog()
		defer stop()
		f.Step(now(), true)
		time.Sleep(2500 * time.Millisecond)
		require.Zero(t, f.Snapshot().Down)
		time.Sleep(2 * time.Second)
		require.Equal(t, 4, f.Snapshot().Down)
		require.Contains(t, log.String(), "does not come round")
	})
}
