package fleet

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Config is how an instance takes part in a fleet.
type Config struct {
	// Transport reaches the store that the instances have in common.
	Transport Transport
	// Period is the time between two exchanges, 20 ms to 10 s; 0 is 100 ms. A
	// limit is exchanged every max(Period, burst/rate/4), at most 1 s: choose
	// Period below half the time in which the smallest bucket fills.
	Period time.Duration
	// MaxKeys is how many synced (limit, key) states fit, up to 8,388,608; it
	// fixes the memory, at about 350 bytes each. 0 is 65,536.
	MaxKeys int
	// Expected is how many instances to reckon with until the fleet has been
	// heard; 0 is 1. It never lowers what is heard.
	Expected int
	// Reservation is how the fleet divides what the gates keep for critical
	// traffic.
	Reservation Reservation
}

// Reservation is how the fleet divides the capacity of its gates. Every instance
// of a group must have the same one.
type Reservation struct {
	// Group names the instances that divide a capacity; "" is "main".
	Group string
	// Fixed is a capacity that the instances have in common, such as that of a
	// backend; 0 is the sum of the instances' own. With Fixed, an instance that
	// was never heard may use a part of it by Expected, and nothing when that
	// is 0 too.
	Fixed int
	// Request is how long a request may take. An instance that vanishes keeps
	// what it had borrowed for so long, since a backend may still work on it.
	// 0 is the time to live of a lease, 1 s or four periods.
	Request time.Duration
	// Grace is how long an instance that vanishes keeps the rest, and counts as
	// one of the fleet; 0 is 10 s. It keeps its places of strict in-flight limits
	// for so long too, 2 s or ten periods at least.
	Grace time.Duration
}

const (
	maxBatch    = 128  // keys of a call: less than 0.4 ms of a server's time
	maxTick     = 4096 // keys of a tick
	maxProbe    = 8    // keys of a call that only asks whether the store is back
	budget      = 20e3 // calls a second that the fleet as a whole aims to stay below
	minUrgent   = int64(10 * time.Millisecond)
	subscribed  = int64(time.Minute) // for which a contended key goes on asking
	stepBack    = 1e3                // us by which an age must lag to mean lost history
	recoverHold = int64(time.Second)
	maxBackoff  = int64(time.Second)
	minBackoff  = int64(100 * time.Millisecond)
	minWait     = int64(50 * time.Millisecond)
	maxWait     = int64(250 * time.Millisecond)
	deadline    = time.Second            // of a call: a reply that comes late is still a reply
	deadlineOut = 500 * time.Millisecond // of one that asks whether the store is back
	maxTries    = 5                      // calls with one batch that are on their way at once
)

func (c *Config) fill() error {
	var errs []error
	if c.Transport == nil {
		errs = append(errs, errors.New("fleet: transport: must be given"))
	} else if n := c.Transport.Shards(); n < 1 || n > math.MaxUint16 {
		errs = append(errs, fmt.Errorf("fleet: transport: shards %d: must be from 1 to %d", n, math.MaxUint16))
	}
	if c.Period == 0 {
		c.Period = 100 * time.Millisecond
	}
	if c.Period < 20*time.Millisecond || c.Period > 10*time.Second {
		errs = append(errs, fmt.Errorf("fleet: period %v: must be from 20ms to 10s", c.Period))
	}
	if c.MaxKeys == 0 {
		c.MaxKeys = 1 << 16
	}
	if c.MaxKeys < 1 || c.MaxKeys > 1<<23 {
		errs = append(errs, fmt.Errorf("fleet: max keys %d: must be from 1 to %d", c.MaxKeys, 1<<23))
	}
	if c.Expected < 0 {
		errs = append(errs, fmt.Errorf("fleet: expected %d: must not be negative", c.Expected))
	}
	r := &c.Reservation
	if r.Group == "" {
		r.Group = "main"
	}
	for _, x := range r.Group {
		if x == '{' || x == '}' || x <= ' ' || x > '~' {
			errs = append(errs, fmt.Errorf("fleet: reservation: group %q: must be of printable ASCII without braces and blanks", r.Group))
			break
		}
	}
	if r.Fixed < 0 {
		errs = append(errs, fmt.Errorf("fleet: reservation: fixed %d: must not be negative", r.Fixed))
	}
	if r.Grace == 0 {
		r.Grace = 10 * time.Second
	}
	if r.Request == 0 {
		r.Request = c.ttl()
	}
	switch {
	case r.Request < 0:
		errs = append(errs, fmt.Errorf("fleet: reservation: request %v: must not be negative", r.Request))
	case r.Grace < max(r.Request, c.ttl()):
		errs = append(errs, fmt.Errorf("fleet: reservation: grace %v: must be at least request and a lease, %v", r.Grace, max(r.Request, c.ttl())))
	}
	return errors.Join(errs...)
}

// ttl is how long a lease of places lasts.
func (c *Config) ttl() time.Duration { return max(time.Second, 4*c.Period) }

// decay is the time in which the memory of attempts falls to 1/e, in us.
func (c *Config) decay() float64 { return float64(max(500*time.Millisecond, 5*c.Period)) / 1e3 }

// patience is how long a shard may fail before it counts as down.
func (c *Config) patience() int64 { return int64(max(time.Second, 5*c.Period)) }
