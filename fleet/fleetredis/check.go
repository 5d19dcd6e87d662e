package fleetredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/fleet"
)

// A layout counts as in use for a minute after an instance has noted it, which
// each does three times a minute.
const (
	layoutTTL  = time.Minute
	noteEvery  = layoutTTL / 3
	noteWithin = 50 * time.Millisecond // a report does not wait longer for it
)

// Check implements fleet.Transport.
func (t *Transport) Check(ctx context.Context, now time.Time) (r fleet.Report) {
	at, err := t.client.Time(ctx).Result()
	if err != nil {
		r.Err = explain(err)
		return r
	}
	r.Ahead = at.Sub(now)
	if err := t.load(ctx); err != nil {
		r.Err = explain(err)
		return r
	}
	r.Warnings = append(r.Warnings, t.layouts(ctx, at)...)
	r.Warnings = append(r.Warnings, t.settings(ctx)...)
	return r
}

// load brings the scripts to every primary, so that none of them has to be sent
// with a batch, and tries them on a batch without a key.
func (t *Transport) load(ctx context.Context) error {
	for _, s := range []script{t.push, t.beat} {
		if cluster, ok := t.client.(*redis.ClusterClient); ok {
			if err := cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
				return c.ScriptLoad(ctx, s.source).Err()
			}); err != nil {
				return err
			}
		} else if err := t.client.ScriptLoad(ctx, s.source).Err(); err != nil {
			return err
		}
	}
	b := &fleet.Batch{Seq: 1, Decay: 500e3}
	t.Push(ctx, fleet.Boot{}, []*fleet.Batch{b})
	return b.Err
}

// layouts notes this layout as in use, and warns of others that are.
func (t *Transport) layouts(ctx context.Context, now time.Time) (warn []string) {
	all, err := t.client.HGetAll(ctx, t.layoutsName()).Result()
	if err != nil {
		return []string{"the layouts in use cannot be read: " + explain(err).Error()}
	}
	for other, seen := range all {
		if at, err := strconv.ParseInt(seen, 10, 64); err == nil && other != t.layout() && now.Unix()-at < int64(layoutTTL/time.Second) {
			warn = append(warn, fmt.Sprintf("instances with the layout %s are running; this one's is %s, and nothing is shared between the two", other, t.layout()))
		}
	}
	if err := t.note(ctx, now); err != nil {
		warn = append(warn, "this layout cannot be noted as in use: "+explain(err).Error())
	}
	return warn
}

func (t *Transport) layout() string      { return fmt.Sprintf("%s%sv%d", t.plain, Wire, t.shards) }
func (t *Transport) layoutsName() string { return t.plain + ":{layouts}" }

// note notes this layout as in use at the server's time now.
func (t *Transport) note(ctx context.Context, now time.Time) error {
	t.noted.Store(now.Unix())
	pipe := t.client.Pipeline()
	pipe.HSet(ctx, t.layoutsName(), t.layout(), now.Unix())
	pipe.Expire(ctx, t.layoutsName(), layoutTTL)
	_, err := pipe.Exec(ctx)
	return err
}

// noteAgain does so when it is time.
func (t *Transport) noteAgain(ctx context.Context, now time.Time) {
	if since := now.Unix() - t.noted.Load(); since >= 0 && since < int64(noteEvery/time.Second) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, noteWithin)
	defer cancel()
	_ = t.note(ctx, now) // what is wrong with the server is told elsewhere
}

// settings warns of settings that make a fault worse, as far as it may read
// them.
func (t *Transport) settings(ctx context.Context) (warn []string) {
	get := func(name string) string {
		m, err := t.client.ConfigGet(ctx, name).Result()
		if err != nil {
			return ""
		}
		return m[name]
	}
	if get("cluster-enabled") == "yes" && get("cluster-require-full-coverage") == "yes" {
		warn = append(warn, "cluster-require-full-coverage is yes: one dead primary stops every shard; set it to no")
	}
	if limit := get("maxmemory"); limit != "" && limit != "0" && get("maxmemory-policy") == "noeviction" {
		warn = append(warn, "maxmemory-policy is noeviction: a full server stops the fleet's exchange; volatile-ttl or allkeys-lru let it go on")
	}
	return warn
}

// explain says what an error means for whoever set the server up.
func explain(err error) error {
	text := err.Error()
	var netErr net.Error
	for _, c := range []struct{ prefix, means string }{
		{"NOAUTH", "the server wants a password"},
		{"WRONGPASS", "wrong user name or password"},
		{"ERR invalid password", "wrong password"},
		{"ERR AUTH", "wrong password"},
		{"NOPERM", "the user lacks a right: scripts need EVALSHA, EVAL and SCRIPT LOAD, and the commands named in package fleetredis on keys of the prefix"},
		{"ERR unknown command", "the server does not run Lua scripts"},
		{"CLUSTERDOWN", "the cluster does not serve all slots; see cluster-require-full-coverage"},
		{"OOM", "the server is out of memory and may not evict"},
		{"READONLY", "the server is a replica, or was made one"},
		{"MASTERDOWN", "the replica has lost its primary"},
		{"LOADING", "the server is still loading its data"},
		{"MISCONF", "the server refuses writes because it cannot save"},
		{"MOVED", "the server belongs to a cluster: give more than one address, or set IsClusterMode"},
	} {
		if strings.HasPrefix(text, c.prefix) {
			return fmt.Errorf("fleetredis: %s: %w", c.means, err)
		}
	}
	if errors.As(err, &netErr) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("fleetredis: the server cannot be reached: %w", err)
	}
	return fmt.Errorf("fleetredis: %w", err)
}
