package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/cmd/loadgen/internal/wire"
	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleetredis"
)

// sibling is the rest of a fleet of two: another instance, without a shop, that
// meets the same runaway script, and the link to the Redis that both share.
type sibling struct {
	link   *wire.Link
	engine *engine.Engine
}

// fleetSecret is what instances of one fleet have in common.
var fleetSecret = []byte("loadgen live, no secret at all")

// newSyncer is one instance's part in the fleet.
func newSyncer(addr string) (*fleet.Fleet, error) {
	t, err := fleetredis.New(redis.UniversalOptions{Addrs: []string{addr}}, fleetredis.Options{Prefix: "loadgen-live", Shards: 4})
	if err != nil {
		return nil, err
	}
	f, err := fleet.New(fleet.Config{Transport: t, Expected: 2})
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return f, nil
}

// shareLimit lets the fleet share the request limit of a configuration.
func shareLimit(c *engine.Config, f engine.Syncer) {
	c.Sync, c.Secret = f, fleetSecret
	for i := range c.Limits {
		if c.Limits[i].Name == limitRequests {
			c.Limits[i].Sync = engine.Sync{Mode: engine.SyncShare}
		}
	}
}

// newSibling joins a fleet over the Redis at the address.
func newSibling(redisAddr string) (*sibling, error) {
	link, err := wire.Listen(redisAddr)
	if err != nil {
		return nil, err
	}
	f, err := newSyncer(link.Addr())
	if err != nil {
		return nil, errors.Join(err, link.Close())
	}
	var c engine.Config
	rateAct().halves[1].arm(&c, setting{})
	shareLimit(&c, f)
	e, err := engine.New(c)
	if err != nil {
		return nil, errors.Join(err, link.Close())
	}
	return &sibling{link, e}, nil
}

// run meets the script at the rate that flood says, until ctx ends.
func (s *sibling) run(ctx context.Context, flood func() float64) {
	id, _ := s.engine.Limit(limitRequests)
	claims := []engine.Claim{id.Claim(s.engine.Key("runaway"))}
	const step = 20 * time.Millisecond
	tick := time.NewTicker(step)
	defer tick.Stop()
	for owed := 0.0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for owed += flood() * step.Seconds(); owed >= 1; owed-- {
			t := s.engine.Admit(engine.Request{Class: engine.Test, Claims: claims})
			t.Done(engine.Success)
		}
	}
}

func (s *sibling) close() error { return errors.Join(s.engine.Close(), s.link.Close()) }

// syncNews says how the fleet is.
func syncNews(f engine.FleetSnapshot) string {
	if f.SyncAge < 0 {
		return "not heard yet"
	}
	return fmt.Sprintf("%d instances share the request limit; last exchange %.1f s ago", f.Instances, f.SyncAge.Seconds())
}
