package fleetredis_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/internal/redistest"
)

// rolling is a fleet whose instances get another policy one after the other.
type rolling struct {
	t       *testing.T
	srv     *redistest.Server
	engines []*engine.Engine
	fleets  []*fleet.Fleet
	logs    []*records
	turned  int
}

func roll(t *testing.T, n int, was engine.Limit) *rolling {
	r := &rolling{t: t, srv: redistest.Start(t)}
	for range n {
		log := &records{}
		e, f := instance(t, slog.New(slog.NewTextHandler(log, nil)), []engine.Limit{was}, r.srv.Addr)
		r.engines, r.fleets, r.logs = append(r.engines, e), append(r.fleets, f), append(r.logs, log)
	}
	heard(t, r.engines, n)
	return r
}

// turn gives the next instance the limit in its new form.
func (r *rolling) turn(is engine.Limit) {
	i := r.turned
	r.turned++
	require.NoError(r.t, r.engines[i].Swap(engine.Config{Limits: []engine.Limit{is}, Secret: secret, Sync: r.fleets[i],
		Logger: slog.New(slog.NewTextHandler(r.logs[i], nil)), MaxEntries: 1000}))
}

// told checks that each instance has said once what it means.
func (r *rolling) told(what string) {
	for _, log := range r.logs {
		require.Equal(r.t, 1, strings.Count(log.String(), what), log.String())
	}
}

// kinds are the letters under which the server has state of the limit.
func (r *rolling) kinds(limit string) (kinds []string) {
	client := redis.NewClient(&redis.Options{Addr: r.srv.Addr})
	defer client.Close()
	names, err := client.Keys(context.Background(), "weir1v16:*:"+limit+":*").Result()
	require.NoError(r.t, err)
	for _, name := range names {
		kinds = append(kinds, strings.Split(name, ":")[2])
	}
	slices.Sort(kinds)
	return kinds
}

// While some instances share a bucket and others lease from it, the server has one
// bucket, and the fleet admits what it holds.
func TestServerHasOneBucketWhileADeployRolls(t *testing.T) {
	shared, strict := bucket(1000, 200), bucket(1000, 200)
	strict.Sync.Mode = engine.SyncStrict
	for name, c := range map[string]struct{ was, is engine.Limit }{"to strict": {shared, strict}, "to share": {strict, shared}} {
		t.Run(name, func(t *testing.T) {
			r := roll(t, 4, c.was)
			at := []time.Duration{800, 1000, 3000, 3200} // ms: for most of the time it is half done
			d := drive(r.engines, "api", 3000, 4*time.Second, func(now time.Duration) {
				if r.turned < len(at) && now >= at[r.turned]*time.Millisecond {
					r.turn(c.is)
				}
			})
			t.Logf("per second %v, by instance %v, excess %.0f", d.perSecond, d.byEngine, d.excess(1000, 200))
			require.Equal(t, 4, r.turned)
			require.Equal(t, []string{"r"}, r.kinds("api"))
			var parts []float64
			for _, n := range d.perSecond[1:4] {
				parts = append(parts, float64(n)/1000)
			}
			within(t, 0.95, 1.04, []float64{average(parts)})
			require.LessOrEqual(t, d.excess(1000, 200), 400.0)
			r.told("spends from one bucket")
		})
	}
}

// A bucket and a quota of one name are two values in the server, and so are the
// places of a shared and of a strict limit: neither form ever reads the other's.
func TestFormsOfALimitThatCountOtherwiseLieApart(t *testing.T) {
	daily := engine.Limit{Name: "api", Kind: engine.Quota, Rate: 300, Window: engine.Day, Sync: engine.Sync{Mode: engine.SyncShare}}
	slow := bucket(1, 100)
	slow.Per = time.Minute
	jobs := engine.Limit{Name: "api", Kind: engine.InFlight, Max: 10, Sync: engine.Sync{Mode: engine.SyncShare}}
	strict := jobs
	strict.Sync.Mode = engine.SyncStrict
	for name, c := range map[string]struct {
		was, is engine.Limit
		kinds   []string
		most    int // of all that is admitted: both limits, and what two instances admit from cold
	}{
		"bucket to quota":  {slow, daily, []string{"q", "r"}, 300 + 142 + 2},
		"quota to bucket":  {daily, slow, []string{"q", "r"}, 300 + 142 + 2},
		"places to strict": {jobs, strict, []string{"c", "p"}, 10 + 10 + 5},
		"places to share":  {strict, jobs, []string{"c", "p"}, 10 + 10 + 5},
	} {
		t.Run(name, func(t *testing.T) {
			r := roll(t, 2, c.was)
			var open []*engine.Ticket
			ask := func() bool {
				n := len(open)
				for _, e := range r.engines {
					id, _ := e.Limit("api")
					if tk := e.Admit(engine.Request{Class: engine.Read, Claims: []engine.Claim{id.Claim(e.Key("user"))}}); tk.OK() {
						open = append(open, &tk)
					}
				}
				require.LessOrEqual(t, len(open), c.most)
				return len(open) > n
			}
			// until nothing has been admitted for some exchanges
			exhaust := func() {
				quiet := 0
				require.Eventually(t, func() bool {
					if quiet++; ask() {
						quiet = 0
					}
					return quiet > 40
				}, 20*time.Second, 10*time.Millisecond)
			}
			exhaust()
			r.turn(c.is)
			exhaust()
			require.Eventually(t, func() bool { return slices.Equal(c.kinds, r.kinds("api")) }, 5*time.Second, 10*time.Millisecond, "%v", r.kinds("api"))
			r.turn(c.is)
			exhaust()
			r.told("may admit what both admit")
			for _, tk := range open {
				tk.Done(engine.Success)
			}
		})
	}
}
