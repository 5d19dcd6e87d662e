package fleettest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weir-go/weir/fleet"
)

// Transport is a fleet.Transport over a Store in this process, on the real
// clock: for tests of a service that has several engines and no Redis. Several
// fleets may use one Transport. Its methods are safe for concurrent use.
type Transport struct {
	shards int
	epoch  time.Time

	mu    sync.Mutex
	store Store
	down  bool
}

var _ fleet.Transport = (*Transport)(nil)

// NewTransport returns a Transport over an empty Store.
func NewTransport(shards int) *Transport { return &Transport{shards: shards, epoch: time.Now()} }

var errDown = errors.New("fleettest: the store is down")

// SetDown makes every exchange fail, or succeed again.
func (t *Transport) SetDown(down bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.down = down
}

// now is the store's time; t.mu is held.
func (t *Transport) now() float64 { return float64(time.Since(t.epoch))/1e3 + 1 }

// Push implements fleet.Transport.
func (t *Transport) Push(_ context.Context, boot fleet.Boot, batches []*fleet.Batch) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range batches {
		if t.down {
			b.Err = errDown
		} else {
			t.store.Push(t.now(), boot, b)
		}
	}
}

// Beat implements fleet.Transport.
func (t *Transport) Beat(_ context.Context, boot fleet.Boot, b *fleet.Beat) (fleet.BeatReply, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.down {
		return fleet.BeatReply{}, errDown
	}
	return t.store.Beat(t.now(), boot, b), nil
}

// Leave implements fleet.Transport.
func (t *Transport) Leave(_ context.Context, boot fleet.Boot, group string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.store.Leave(boot, group)
	return nil
}

// Check implements fleet.Transport.
func (t *Transport) Check(context.Context, time.Time) fleet.Report { return fleet.Report{} }

// Shards implements fleet.Transport.
func (t *Transport) Shards() int { return t.shards }

// Close implements fleet.Transport.
func (t *Transport) Close() error { return nil }
