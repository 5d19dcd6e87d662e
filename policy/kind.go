package policy

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/weir-go/weir/engine"
)

// kind is what a policy knows about one kind of limiter.
type kind struct {
	fields []string                   // that say its numbers; none: it counts nobody, and needs no key
	most   func(*engine.Limit) int64  // the largest cost that can ever pass
	text   func(*engine.Limit) string // its numbers in words
	worst  func(*engine.Limit) string // the most that one key gets
}

// kinds has an entry for every kind of the engine.
var kinds = [...]kind{
	engine.TokenBucket: {
		fields: []string{"rate", "window", "burst", "post_paid"},
		most:   func(l *engine.Limit) int64 { return l.Burst },
		text: func(l *engine.Limit) string {
			s := fmt.Sprintf("token bucket: %d per %s, bursts of %d", l.Rate, perText(l.Per), l.Burst)
			if l.PostPaid {
				s += ", settled afterwards"
			}
			return s
		},
		worst: func(l *engine.Limit) string {
			return fmt.Sprintf("%s in any %s (a full burst of %d, and the rate)", sum(l.Burst, l.Rate), perText(l.Per), l.Burst)
		},
	},
	engine.Quota: {
		fields: []string{"rate", "window", "zone", "reset_at", "post_paid"},
		most:   func(l *engine.Limit) int64 { return l.Rate },
		text: func(l *engine.Limit) string {
			zone := l.Zone
			if zone == "" {
				zone = "UTC"
			}
			s := fmt.Sprintf("quota: %d per calendar %s in %s", l.Rate, l.Window, zone)
			if l.ResetAt > 0 {
				s += fmt.Sprintf(", from %02d:%02d", l.ResetAt/time.Hour, l.ResetAt%time.Hour/time.Minute)
			}
			return s
		},
		worst: func(l *engine.Limit) string {
			return fmt.Sprintf("%d in one %s, %s in as long a time across its end", l.Rate, l.Window, sum(l.Rate, l.Rate))
		},
	},
	engine.Sliding: {
		fields: []string{"rate", "window"},
		most:   func(l *engine.Limit) int64 { return l.Rate },
		text:   func(l *engine.Limit) string { return fmt.Sprintf("sliding window: %d per %s", l.Rate, perText(l.Per)) },
		worst:  func(l *engine.Limit) string { return fmt.Sprintf("%d in any %s", l.Rate, perText(l.Per)) },
	},
	engine.InFlight: {
		fields: []string{"max", "retry_after"},
		most:   func(l *engine.Limit) int64 { return l.Max },
		text:   func(l *engine.Limit) string { return fmt.Sprintf("in flight: %d", l.Max) },
		worst:  func(l *engine.Limit) string { return fmt.Sprintf("%d at once", l.Max) },
	},
	engine.Block: {
		most:  func(*engine.Limit) int64 { return math.MaxInt64 }, // whatever is claimed, nothing passes
		text:  func(*engine.Limit) string { return "blocked" },
		worst: func(*engine.Limit) string { return "nothing passes" },
	},
	engine.Unlimited: {
		most:  func(*engine.Limit) int64 { return math.MaxInt64 },
		text:  func(*engine.Limit) string { return "unlimited" },
		worst: func(*engine.Limit) string { return "no bound" },
	},
}

// kindNames are the kinds in the order of their values.
var kindNames = func() (names []string) {
	for k := range kinds {
		names = append(names, engine.Kind(k).String())
	}
	return names
}()

// numberFields are the fields of all kinds.
var numberFields = func() (fields []string) {
	for _, k := range kinds {
		fields = append(fields, k.fields...)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}()

func sum(a, b int64) string {
	if a > math.MaxInt64-b {
		return "no bound"
	}
	return fmt.Sprint(a + b)
}

// perText is a time as a rate has it.
func perText(d time.Duration) string {
	for _, u := range []string{"day", "h", "min", "s", "ms"} {
		if per := spans[u].per; d%per == 0 {
			if d == per {
				return u
			}
			return fmt.Sprintf("%d%s", d/per, u)
		}
	}
	return d.String()
}
