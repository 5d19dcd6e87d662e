package fleetredis_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleetredis"
	"github.com/weir-go/weir/internal/redistest"
)

// asker asks for one token of a user of the limit "api".
func asker(e *engine.Engine) func(user string) bool {
	id, _ := e.Limit("api")
	return func(user string) bool {
		tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(e.Key("user", user))}})
		tk.Done(engine.Success)
		return tk.OK()
	}
}

// told runs do and waits until the server has acknowledged all that the engine
// admitted.
func told(t *testing.T, e *engine.Engine, do func()) {
	t.Helper()
	acked := e.Snapshot().Fleet.Acked
	do()
	require.Eventually(t, func() bool {
		s := e.Snapshot().Fleet
		return s.Pending == 0 && s.Acked > acked
	}, 10*time.Second, 5*time.Millisecond)
}

// Whatever takes the end from the fleet's keys, the next exchange gives them one
// again: no key stays for ever.
func TestKeysWithoutAnEndAreGivenOneAgain(t *testing.T) {
	srv := redistest.Start(t)
	e, _ := instance(t, nil, []engine.Limit{bucket(10, 5)}, srv.Addr)
	heard(t, []*engine.Engine{e}, 1)
	client := redis.NewClient(&redis.Options{Addr: srv.Addr})
	defer client.Close()
	ctx := context.Background()
	ask := asker(e)
	endless := func() (n int) {
		names, err := client.Keys(ctx, "*").Result()
		require.NoError(t, err)
		for _, name := range names {
			if client.PTTL(ctx, name).Val() == -1 {
				n++
			}
		}
		return n
	}
	told(t, e, func() { ask("u") })
	require.Zero(t, endless())
	names, err := client.Keys(ctx, "*:r:api:*").Result()
	require.NoError(t, err)
	require.Len(t, names, 1)
	all, err := client.Keys(ctx, "*").Result()
	require.NoError(t, err)
	for _, name := range all {
		// What an instance notes once, when it starts, is of no user.
		if !strings.Contains(name, "layouts") && !strings.HasSuffix(name, strings.Repeat("0", 32)) {
			require.True(t, client.Persist(ctx, name).Val(), name)
		}
	}
	require.Positive(t, endless())
	require.Eventually(t, func() bool { ask("u"); return endless() == 0 }, 15*time.Second, 50*time.Millisecond)
	require.LessOrEqual(t, client.PTTL(ctx, names[0]).Val(), time.Minute)
}

// A key that somebody has overwritten with something else costs that user's
// history and nobody else's: the exchange goes on, and the key heals.
func TestAKeyOfAWrongTypeHarmsNobodyElse(t *testing.T) {
	srv := redistest.Start(t)
	tr, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{srv.Addr}}, fleetredis.Options{Shards: 1})
	require.NoError(t, err)
	f, err := fleet.New(fleet.Config{Transport: tr})
	require.NoError(t, err)
	limit := engine.Limit{Name: "api", Rate: 1, Per: time.Hour, Burst: 100, Sync: engine.Sync{Mode: engine.SyncShare}}
	e, err := engine.New(engine.Config{Limits: []engine.Limit{limit}, Secret: secret, Sync: f, MaxEntries: 1000})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	heard(t, []*engine.Engine{e}, 1)
	client := redis.NewClient(&redis.Options{Addr: srv.Addr})
	defer client.Close()
	ctx := context.Background()
	ask := asker(e)
	users := []string{"a", "b", "c"}
	name := map[string]string{}
	for _, u := range users { // one after the other, to learn whose key is which
		told(t, e, func() {
			for range 10 {
				require.True(t, ask(u))
			}
		})
		names, err := client.Keys(ctx, "*:r:api:*").Result()
		require.NoError(t, err)
		for _, n := range names {
			known := false
			for _, other := range name {
				known = known || other == n
			}
			if !known {
				name[u] = n
			}
		}
	}
	require.Len(t, name, 3)
	before := e.Snapshot().Fleet
	for _, spoil := range []func(n string){
		func(n string) { client.LPush(ctx, n, "x") },
		func(n string) { client.HSet(ctx, n, "a", "b") },
		func(n string) { client.Set(ctx, n, "rubbish", 0) },
	} {
		require.NoError(t, client.Del(ctx, name["b"]).Err())
		spoil(name["b"])
		stored := [2]string{client.Get(ctx, name["a"]).Val(), client.Get(ctx, name["c"]).Val()}
		told(t, e, func() {
			for _, u := range users {
				require.True(t, ask(u))
			}
		})
		require.NotEqual(t, stored[0], client.Get(ctx, name["a"]).Val())
		require.NotEqual(t, stored[1], client.Get(ctx, name["c"]).Val())
		require.Len(t, client.Get(ctx, name["b"]).Val(), len(stored[0]), "it is a bucket again")
		require.Positive(t, client.PTTL(ctx, name["b"]).Val())
	}
	after := e.Snapshot().Fleet
	require.Equal(t, before.Errors, after.Errors)
	require.Zero(t, after.Down)
	for _, u := range users {
		n := 0
		for ask(u) {
			n++
		}
		require.Equal(t, 87, n, "user %s", u)
	}
}

// The nodes of a cluster lose their scripts, one after the other and all at
// once: no call fails for it.
func TestScriptsAreFlushedOnEveryNode(t *testing.T) {
	skipFaults(t)
	nodes := redistest.Cluster(t, 3)
	engines := fleetOf(t, 2, []engine.Limit{bucket(100, 100)}, addresses(nodes)...)
	heard(t, engines, 2)
	round := func(flush ...*redistest.Server) {
		t.Helper()
		for _, s := range flush {
			_, err := s.Do("SCRIPT", "FLUSH")
			require.NoError(t, err)
		}
		for _, e := range engines {
			told(t, e, func() {
				ask := asker(e)
				for i := range 100 { // on every shard
					ask(fmt.Sprint(i))
				}
			})
		}
	}
	round()
	for _, s := range nodes {
		round(s)
	}
	for range 2 {
		round(nodes...)
	}
	for _, e := range engines {
		s := e.Snapshot().Fleet
		require.Zero(t, s.Errors)
		require.Zero(t, s.Down)
	}
}

// The name of the store moves to another server, and the one before lives on as
// a replica that refuses writes on the connections that are open: they are given
// up, and the fleet is at the new one within a moment.
func TestConnectionsToADemotedServerAreGivenUp(t *testing.T) {
	skipFaults(t)
	old, next := redistest.Start(t), redistest.Start(t)
	var at atomic.Value
	at.Store(old.Addr)
	engines := make([]*engine.Engine, 3)
	for i := range engines {
		tr, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{"store"}, Dialer: dialer(&at)}, fleetredis.Options{})
		require.NoError(t, err)
		engines[i] = over(t, tr)
	}
	heard(t, engines, 3)
	ask := func() {
		for _, e := range engines {
			asker(e)("u")
		}
	}
	ask()
	client := redis.NewClient(&redis.Options{Addr: next.Addr})
	defer client.Close()
	require.Zero(t, client.DBSize(context.Background()).Val())

	begin := time.Now()
	at.Store(next.Addr)
	_, err := old.Do("REPLICAOF", "127.0.0.1", fmt.Sprint(next.Port))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		ask()
		names, _ := client.Keys(context.Background(), "*").Result()
		if !strings.Contains(strings.Join(names, " "), ":r:api:") {
			return false
		}
		for _, e := range engines {
			if s := e.Snapshot().Fleet; s.Down > 0 || s.Instances != 3 {
				return false
			}
		}
		return true
	}, 10*time.Second, 10*time.Millisecond)
	t.Logf("at the new server after %v", time.Since(begin))
	require.Less(t, time.Since(begin), 5*time.Second) // a third of a second on a machine that has time
}

// Every instance of a service is replaced, one after the other, as a deploy does
// it: what a user has spent stays spent. The user asks slowly enough for the
// instances to hear of each other in between; what a flood gets meanwhile is
// another matter, and owed.
func TestARollingRestartGivesNothingBack(t *testing.T) {
	skipFaults(t)
	srv := redistest.Start(t)
	for name, sync := range map[string]engine.SyncMode{"share": engine.SyncShare, "strict": engine.SyncStrict} {
		t.Run(name, func(t *testing.T) {
			limit := engine.Limit{Name: "api", Rate: 10, Per: time.Hour, Burst: 10, Sync: engine.Sync{Mode: sync}}
			start := func() *engine.Engine {
				tr, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{srv.Addr}}, fleetredis.Options{Prefix: name})
				require.NoError(t, err)
				f, err := fleet.New(fleet.Config{Transport: tr})
				require.NoError(t, err)
				e, err := engine.New(engine.Config{Limits: []engine.Limit{limit}, Secret: secret, Sync: f, MaxEntries: 1000})
				require.NoError(t, err)
				return e
			}
			engines := []*engine.Engine{start(), start(), start()}
			heard(t, engines, 3)
			admitted := 0
			spend := func(e *engine.Engine, n int) {
				t.Helper()
				ask := asker(e)
				require.Eventually(t, func() bool { // a lease takes a moment to come
					if n > 0 && ask("u") {
						n--
						admitted++
					}
					return n == 0
				}, 10*time.Second, 20*time.Millisecond)
			}
			for i := range 4 {
				spend(engines[i%3], 1)
			}
			for i := range engines {
				require.NoError(t, engines[i].Close())
				engines[i] = start()
				heard(t, engines[i:i+1], 3)
			}
			for _, e := range engines { // who has never seen the key learns of it
				told(t, e, func() { spend(e, 1) })
			}
			pace := time.NewTicker(400 * time.Millisecond)
			defer pace.Stop()
			for refused := 0; refused < 2*len(engines); { // twice around
				for _, e := range engines {
					<-pace.C
					if refused++; asker(e)("u") {
						admitted++
						refused = 0
					}
				}
			}
			// Who shares may admit one more each of so few tokens, and owes it.
			require.GreaterOrEqual(t, admitted, 10)
			require.LessOrEqual(t, admitted, map[string]int{"strict": 10, "share": 13}[name])
			for _, e := range engines {
				require.NoError(t, e.Close())
			}
		})
	}
}
