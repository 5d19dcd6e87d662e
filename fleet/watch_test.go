package fleet_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleettest"
	"github.com/weir-go/weir/key"
)

// watched is an instance with one window of slots, which a limit that only
// watches has filled, and one that is enforced.
func watched(t *testing.T) (w *world, b *box, enforced engine.Limit) {
	var watch engine.Limit
	watch, enforced = tokenBucket(1, 1000), tokenBucket(1, 1000)
	watch.Name, enforced.Name = "watch", "enforced"
	enforced.Overflow, watch.Overflow = engine.OverflowClosed, engine.OverflowClosed
	w, b = one(t, fleet.Config{MaxKeys: 1}, watch, enforced)
	b.shared["watch"].(engine.Watcher).Watch(true)
	for i := range 32 {
		step, _ := b.ask("watch", keyOf(i), 500)
		require.Equal(t, engine.Admitted, step.Reason)
	}
	return w, b, enforced
}

// The keys of a limit that only watches yield to those of an enforced one,
// wherever they are on their way to the store; those of an enforced one yield to
// nobody.
func TestWatchedKeysYieldToEnforcedOnes(t *testing.T) {
	for name, meanwhile := range map[string]func(w *world, b *box){
		"marked":   func(*world, *box) {},
		"on a way": func(w *world, b *box) { b.step(true) },
		"told":     func(w *world, b *box) { w.seconds(0.5) },
		"cut off":  func(w *world, b *box) { w.down = true; w.seconds(3) },
	} {
		t.Run(name, func(t *testing.T) {
			w, b, enforced := watched(t)
			meanwhile(w, b)
			step, _ := b.ask("watch", keyOf(99), 1)
			require.Equal(t, engine.Closed, step.Reason, "a watching limit takes nothing from another key")
			for i := range 32 {
				step, _ = b.ask("enforced", keyOf(100+i), 100)
				require.Equal(t, engine.Admitted, step.Reason, "key %d", i)
			}
			step, _ = b.ask("enforced", keyOf(200), 1)
			require.Equal(t, engine.Closed, step.Reason, "enforced ones do not yield")
			if !w.down {
				w.seconds(2)
				for i := range 32 { // of which the store's replies to the keys before know nothing
					require.InDelta(t, 98, w.levelOf(enforced, keyOf(100+i)), 2)
				}
			}
			b.shared["watch"].(engine.Watcher).Watch(false)
			b.shared["enforced"].(engine.Watcher).Watch(true)
			b.shared["enforced"].(engine.Watcher).Watch(false)
			step, _ = b.ask("watch", keyOf(201), 1)
			require.Equal(t, engine.Closed, step.Reason, "nor do they when they watched for a moment")
		})
	}
}

// However keys push each other out while they are told, each one's tokens are
// told once, as its own.
func TestKeysThatYieldAreNotToldForOthers(t *testing.T) {
	watch, enforced := tokenBucket(1000, 3), tokenBucket(1000, 3) // at rest after 3 ms
	watch.Name, enforced.Name = "watch", "enforced"
	w, b := one(t, fleet.Config{MaxKeys: 1}, watch, enforced)
	b.shared["watch"].(engine.Watcher).Watch(true)
	r := rand.New(rand.NewPCG(5, 6))
	spent, told := map[key.Key]int64{}, map[key.Key]int64{}
	type place struct {
		limit string
		k     key.Key
	}
	shard := map[place]int{}
	w.told = func(at int, it *fleet.Item) {
		if it.Arg[fleet.RateA] > 0 {
			p := place{it.Limit, it.Key}
			if first, ok := shard[p]; ok {
				require.Equal(t, first, at, "a key is told to two shards")
			}
			shard[p] = at
		}
		if it.Limit == "enforced" {
			told[it.Key] += int64(it.Arg[fleet.RateA])
		}
	}
	w.slow = func() int64 { return r.Int64N(int64(80 * ms)) }
	calls := 0
	w.lose = func(int) bool { calls++; return calls%12 == 0 }
	entries := 0
	for range 20_000 {
		for range 3 {
			b.shared["watch"].Take(keyOf(2000+r.IntN(200)), w.now, 1)
		}
		k := keyOf(1000 + r.IntN(60))
		if step, h := b.shared["enforced"].Take(k, w.now, 1); step.Reason == engine.Admitted {
			if e, _, _ := b.f.Deref(h.ID); e == k { // and not the overflow's
				spent[k]++
				entries++
			}
		}
		w.run(w.now + int64(r.IntN(10))*ms)
	}
	w.lose = nil
	w.seconds(10)
	require.Greater(t, entries, 5000)
	require.Zero(t, b.f.Snapshot().DownTime, "what is spent in an outage is told otherwise")
	for k, n := range spent {
		require.Equal(t, n, told[k], "%v", k)
	}
	require.Zero(t, b.f.Snapshot().Pending)
}

// The engine says which limits only watch: at the start, and when it changes.
func TestTheEngineSaysWhichLimitsWatch(t *testing.T) {
	f, err := fleet.New(fleet.Config{Transport: fleettest.NewTransport(2), MaxKeys: 1})
	require.NoError(t, err)
	watch, enforced := tokenBucket(1, 1000), tokenBucket(1, 1000)
	watch.Name, watch.Mode, enforced.Overflow = "watch", engine.Shadow, engine.OverflowClosed
	e := engine.Must(engine.New(engine.Config{Limits: []engine.Limit{watch, enforced}, Secret: []byte("the same on every instance"), Sync: f}))
	defer e.Close()
	ask := func(limit string, k int) bool {
		id, _ := e.Limit(limit)
		tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.ClaimN(e.Key(limit, strconv.Itoa(k)), 500)}})
		defer tk.Done(engine.Success)
		return tk.OK()
	}
	for i := range 32 {
		require.True(t, ask("watch", i))
	}
	for i := range 8 {
		require.True(t, ask("api", i), "it takes what a watching limit has")
	}
	require.NoError(t, e.SetMode("watch", engine.Enforce))
	require.False(t, ask("api", 100), "the rest is an enforced limit's now")
	require.NoError(t, e.SetMode("watch", engine.Off))
	require.True(t, ask("api", 100))
}
