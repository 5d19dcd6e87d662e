package replay

import (
	"slices"
	"time"

	"github.com/weir-go/weir/engine"
)

// What a replay knows about the kinds of limiters.

// threshold is the field of a limit that says how much passes, its name in a
// policy, and how far it is searched; nil for kinds that have none.
func threshold(l *engine.Limit) (field *int64, name string, most int64) {
	switch l.Kind {
	case engine.TokenBucket:
		return &l.Burst, "burst", 1 << 24
	case engine.Quota:
		return &l.Rate, "rate", 1 << 24
	case engine.Sliding:
		return &l.Rate, "rate", 511
	case engine.InFlight:
		return &l.Max, "max", 1 << 20
	}
	return nil, "", 0
}

// Scale returns the configuration with every limit's threshold multiplied by f
// and rounded, at least 1: rate and burst, or how many at once.
func Scale(cfg engine.Config, f float64) engine.Config {
	cfg.Limits = slices.Clone(cfg.Limits)
	times := func(n int64) int64 { return max(1, int64(float64(n)*f+0.5)) }
	for i := range cfg.Limits {
		l := &cfg.Limits[i]
		if field, _, _ := threshold(l); field != nil {
			*field = times(*field)
		}
		if l.Kind == engine.TokenBucket {
			// The rate is kept exact where its time can be changed instead.
			if f < 1 {
				l.Per = time.Duration(float64(l.Per)/f + 0.5)
			} else {
				l.Rate = times(l.Rate)
			}
		}
	}
	return cfg
}

// strideOf is how long the simulated clock may move without a tick of the
// engine. Token buckets and in-flight limits need one in two weeks, a sliding window
// in 128 of its own, and a quota at the ends of its windows.
func strideOf(cfg engine.Config) time.Duration {
	stride := 24 * time.Hour
	for _, l := range cfg.Limits {
		switch l.Kind {
		case engine.Quota:
			return 0
		case engine.Sliding:
			stride = min(stride, 32*l.Per)
		}
	}
	return stride
}
