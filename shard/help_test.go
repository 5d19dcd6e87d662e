package shard_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// hand is a clock that is moved by hand.
type hand struct{ now, published atomic.Int64 }

func (h *hand) Now() int64 { return h.now.Load() }

func (h *hand) Publish(now int64) {
	for old := h.published.Load(); old < now && !h.published.CompareAndSwap(old, now); old = h.published.Load() {
	}
}

// room is a table under test.
type room struct {
	*shard.Table
	t     testing.TB
	clock *hand
}

func newRoom(t testing.TB, entries int) *room {
	clock := new(hand)
	return &room{shard.New(entries, clock), t, clock}
}

// rule is a limit in the table.
type rule struct {
	*room
	bucket.Rule
	id uint8
}

func (r *room) assign(b bucket.Rule, err error) *rule {
	r.t.Helper()
	require.NoError(r.t, err)
	l := &rule{room: r, Rule: b}
	l.id, err = r.Assign(&l.Rule)
	require.NoError(r.t, err)
	return l
}

func (r *room) token(rate int64, per time.Duration, burst int64) *rule {
	return r.assign(bucket.NewToken(rate, per, burst))
}

func (r *room) flight(max int64) *rule { return r.assign(bucket.NewFlight(max)) }

func (l *rule) claim(h uint64, cost int64) *shard.Claim {
	return &shard.Claim{H: h, Cost: cost, Rule: &l.Rule, ID: l.id}
}

// ask is a request as the engine makes it: look at the published time, charge
// what was seen, decide again if that is not there any more.
func (l *rule) ask(h uint64, cost int64, shared bool) (*shard.Claim, shard.Result) {
	c := l.claim(h, cost)
	now := l.clock.published.Load()
	if l.Look(c, now) && l.Commit(c) {
		return c, shard.Taken
	}
	return c, l.Table.Take(c, now, shared)
}

func (l *rule) take(h uint64, cost int64) bool {
	_, r := l.ask(h, cost, true)
	return r == shard.Taken
}

// sweepAll visits every line.
func (r *room) sweepAll() { r.Sweep(r.Lines(), r.clock.Now()) }

func (r *room) advance(d time.Duration) {
	r.clock.now.Add(int64(d))
	r.clock.Publish(r.clock.Now())
}

// keys returns n hashes as a keyed hash would spread them.
func keys(seed uint64, n int) []uint64 {
	rnd := rand.New(rand.NewPCG(seed, 99))
	hs := make([]uint64, n)
	for i := range hs {
		hs[i] = rnd.Uint64()
	}
	return hs
}
