package fleet

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

type nowhere struct{}

func (nowhere) Shards() int                                          { return 1 }
func (nowhere) Push(context.Context, Boot, []*Batch)                 {}
func (nowhere) Leave(context.Context, Boot, string) error            { return nil }
func (nowhere) Close() error                                         { return nil }
func (nowhere) Check(context.Context, time.Time) (r Report)          { return r }
func (nowhere) Beat(context.Context, Boot, *Beat) (BeatReply, error) { return BeatReply{}, nil }

type standing struct{ now int64 }

func (s *standing) Now() int64                 { return s.now }
func (s *standing) Wall() time.Time            { return time.Unix(0, s.now) }
func (s *standing) Logger() *slog.Logger       { return slog.New(slog.DiscardHandler) }
func (s *standing) GateUse() engine.GateUse    { return engine.GateUse{} }
func (s *standing) LeaseGate(engine.GateLease) {}

// An entry that is marked between the moment the stack was taken and the moment
// it is sent stays on the stack it is on: the stack keeps its end and loses
// nobody.
func TestStackKeepsItsEnd(t *testing.T) {
	f, err := New(Config{Transport: nowhere{}, MaxKeys: 100})
	require.NoError(t, err)
	host := &standing{now: int64(time.Hour)}
	f.Manual(host, 1)
	cfg := engine.Limit{Name: "l", Rate: 1000, Per: time.Second, Burst: 1000, Sync: engine.Sync{Mode: engine.SyncShare}}
	rule, err := bucket.NewToken(cfg.Rate, cfg.Per, cfg.Burst)
	require.NoError(t, err)
	s, err := f.Bind(engine.Binding{ID: 1, Limit: cfg, Rule: rule})
	require.NoError(t, err)
	take := func(h uint64) { s.Take(key.Key{H: h, P: h}, host.now, 1) }
	take(1)
	f.collect()
	ln := f.lanes[0]
	require.Len(t, ln.queue, 1)
	// Its batch is made and answered, so that whoever spends marks it anew.
	require.True(t, f.build(ln, host.now, 10))
	ln.batch.Answers = []Answer{{float64(None), 1, 0}}
	f.answered(ln, ln.batch, host.now, host.now)
	take(2) // below it on the stack
	take(1)
	host.now += int64(2 * time.Second)
	require.True(t, f.build(ln, host.now, 10), "it is sent from the queue while it is on the stack")
	take(1)
	seen := 0
	for next := f.dirty.Load(); next != linkEnd && next != 0; next = f.table.Entries[next-1].Link.Load() {
		seen++
		require.Less(t, seen, 10, "the stack bites its tail")
	}
	require.Equal(t, 2, seen)
	f.collect()
	require.Len(t, ln.queue, 2)
}
