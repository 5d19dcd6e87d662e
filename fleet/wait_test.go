package fleet_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleettest"
)

// mute is a store that swallows what it is sent, when it is so told, and answers
// nothing until the caller gives up. It notes who calls it.
type mute struct {
	*fleettest.Transport
	silent  atomic.Bool
	calls   atomic.Int64
	callers atomic.Value // what a call came from that came from a decision
}

func (m *mute) hear(ctx context.Context) error {
	m.calls.Add(1)
	pc := make([]uintptr, 64)
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc)])
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); strings.Contains(f.Function, "engine.(*Engine).") {
			m.callers.Store(f.Function)
		}
	}
	if !m.silent.Load() {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (m *mute) Push(ctx context.Context, boot fleet.Boot, batches []*fleet.Batch) {
	if err := m.hear(ctx); err != nil {
		for _, b := range batches {
			b.Err = err
		}
		return
	}
	m.Transport.Push(ctx, boot, batches)
}

func (m *mute) Beat(ctx context.Context, boot fleet.Boot, b *fleet.Beat) (fleet.BeatReply, error) {
	if err := m.hear(ctx); err != nil {
		return fleet.BeatReply{}, err
	}
	return m.Transport.Beat(ctx, boot, b)
}

func (m *mute) Check(ctx context.Context, now time.Time) fleet.Report {
	return fleet.Report{Err: m.hear(ctx)}
}

// No decision waits for the store, whatever it does: the time of this test stands
// still for as long as anything in it runs, and would go on if a decision waited.
func TestNoDecisionWaitsForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		share, lease, quota, places, open := tokenBucket(1000, 50), strict(1000, 50), daily(2000), inFlight(4), tokenBucket(100, 5)
		share.Name, lease.Name, open.Name = "share", "lease", "open"
		open.Sync.OnStale, open.Overflow = engine.StaleOpen, engine.OverflowOpen
		lease.Sync.OnStale = engine.StaleShare
		limits := []engine.Limit{share, lease, quota, places, open}
		m := &mute{Transport: fleettest.NewTransport(4)}
		f, err := fleet.New(fleet.Config{Transport: m, MaxKeys: 100}) // so few that keys overflow
		require.NoError(t, err)
		e := engine.Must(engine.New(engine.Config{Limits: limits, Secret: []byte("the same on every instance"), Sync: f,
			MaxEntries: 1000, Gate: engine.Gate{Capacity: 8, Reserve: 0.5}}))
		decided, refused := 0, 0
		ask := func(round int) {
			before := time.Now()
			var held []*engine.Ticket
			for i := range 200 {
				var claims []engine.Claim
				for j, l := range limits {
					if i%(j+2) == 0 {
						id, _ := e.Limit(l.Name)
						claims = append(claims, id.ClaimN(e.Key("user", fmt.Sprint((round*i)%300)), int64(1+i%3)))
					}
				}
				tk := e.Admit(engine.Request{Class: engine.Class(1 + i%4), Claims: claims})
				decided++
				if !tk.OK() {
					refused++
				}
				if held = append(held, &tk); i%7 == 0 {
					for _, h := range held {
						h.Done(engine.Success)
					}
					held = nil
				}
			}
			for _, h := range held {
				h.Done(engine.Success)
			}
			_ = e.Snapshot()
			require.Zero(t, time.Since(before), "a decision has waited")
		}
		for round := range 300 { // 3 s each well, silent, well
			m.silent.Store(round >= 100 && round < 200)
			ask(round)
			time.Sleep(30 * time.Millisecond)
		}
		require.Positive(t, e.Snapshot().Fleet.DownTime, "the store was never away")
		require.Zero(t, e.Snapshot().Fleet.Down, "the store is not back")
		require.Greater(t, m.calls.Load(), int64(100))
		require.Nil(t, m.callers.Load(), "a decision calls the store")
		require.Greater(t, refused, decided/100)
		require.Greater(t, decided-refused, decided/100)
		require.NoError(t, e.Close())
	})
}
