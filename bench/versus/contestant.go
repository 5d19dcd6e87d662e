package main

import "time"

// limit is what each key may do: the rate and the burst.
type limit struct {
	count int64 // a period's, and the burst
	per   time.Duration
}

var (
	// generous is above what any core can ask for.
	generous = limit{count: 1e9, per: time.Second}
	// strict refuses the sixth request of a key and gives none back while a check
	// lasts.
	strict = limit{count: 5, per: time.Hour}
)

// subject is a contestant at work.
type subject struct {
	// decide is one whole decision: for concurrency, in and out again.
	decide func(key string) bool
	// take asks for one request of the key and, for concurrency, stays inside.
	take func(key string) bool
	// bytes is what the subject itself says its table takes; nil when it does not.
	bytes func() uint64
}

// contestant is one way to limit.
type contestant struct {
	name   string
	module string // whose version the table states; "" for what only uses std
	note   string // how it is used
	// weir marks our own: never the peer in a ratio.
	weir bool
	// make returns the contestant with a limit for each of a number of keys. For
	// concurrency count is how many may be inside.
	make func(l limit, keys int) (subject, error)
}

// group is contestants that do the same work.
type group struct {
	name string
	what string
	// keyed says whether the contestants tell keys apart.
	keyed       bool
	contestants []contestant
}

var groups = []group{
	{"rate", "one keyed rate check", true, rateContestants},
	{"concurrency", "one keyed concurrency check: in and out", true, keyedConcurrency},
	{"process", "one concurrency check for the whole process: in and out", false, processConcurrency},
}

func findContestant(groupName, name string) (contestant, group, bool) {
	for _, g := range groups {
		for _, c := range g.contestants {
			if g.name == groupName && c.name == name {
				return c, g, true
			}
		}
	}
	return contestant{}, group{}, false
}
