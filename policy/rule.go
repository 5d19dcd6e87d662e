package policy

import (
	"math"
	"slices"
	"time"

	"github.com/weir-go/weir/engine"
)

// numbers reads how a limit counts: its kind and the fields that belong to it.
// What the object does not say is as in the inherited limit; a limit that
// inherits nothing must say all.
func (o *object) numbers(in engine.Limit, inherits bool) engine.Limit {
	l := in
	if k := engine.Kind(o.oneOf("kind", kindNames...)); o.has("kind") && k != in.Kind {
		l = engine.Limit{Name: in.Name, Kind: k, Mode: in.Mode, Fail: in.Fail, Overflow: in.Overflow, Sync: in.Sync}
		inherits = false
	}
	takes := kinds[l.Kind].fields
	for _, f := range numberFields {
		if !slices.Contains(takes, f) && o.get(f) != nil {
			o.fail(f, "does not belong to kind %s%s", l.Kind, o.kindHelp(l.Kind))
		}
	}
	if slices.Contains(takes, "rate") {
		o.rate(&l, inherits)
	}
	given := func(f string) bool { return slices.Contains(takes, f) && o.get(f) != nil }
	if given("zone") {
		l.Zone, _ = o.text("zone")
		if _, err := time.LoadLocation(l.Zone); err != nil || l.Zone == "Local" {
			o.fail("zone", "is no IANA time zone, such as Europe/Berlin")
		}
	}
	if given("reset_at") {
		l.ResetAt = o.timeOfDay("reset_at")
	}
	if given("burst") {
		if l.Burst = o.number("burst", math.MinInt64, math.MaxInt64, 1); l.Burst < 1 {
			o.fail("burst", "must be at least 1: an empty bucket lets nothing pass; for that write kind: block")
		}
	}
	if given("post_paid") {
		l.PostPaid = o.flag("post_paid")
	}
	if given("max") {
		l.Max = o.number("max", 1, 1<<24-2, 0)
	} else if slices.Contains(takes, "max") && !inherits {
		o.fail("max", "is missing; write how many may be in flight at once")
	}
	if given("retry_after") {
		l.RetryAfter = o.duration("retry_after")
	}
	return l
}

// kindHelp says what to write instead.
func (o *object) kindHelp(k engine.Kind) string {
	switch {
	case o.get("max") != nil && k == engine.TokenBucket:
		return "; for requests in flight write kind: in_flight"
	case (o.get("zone") != nil || o.get("reset_at") != nil) && k == engine.TokenBucket:
		return "; for a calendar day or month write kind: quota"
	}
	return ""
}

// rate reads rate, with its window apart or behind the slash, into l. A token
// bucket's burst follows its rate unless it is given.
func (o *object) rate(l *engine.Limit, inherits bool) {
	s, n := o.text("rate")
	if n == nil {
		if !inherits && !o.has("rate") {
			o.fail("rate", "is missing; %s", rateHelp)
		}
		if o.get("window") != nil {
			o.fail("window", "has no rate beside it; write rate: 1000 and window: day, or rate: 1000/day")
		}
		return
	}
	var (
		count   int64
		per     span
		problem string
		field   = "rate"
	)
	if o.get("window") != nil {
		if count, problem = parseCount(s); problem == "" {
			var w string
			w, _ = o.text("window")
			field = "window"
			per, problem = parseSpan(w)
		}
	} else {
		count, per, problem = parseRate(s)
	}
	if problem != "" {
		o.fail(field, "%s", problem)
		return
	}
	l.Rate, l.Per, l.Window = count, per.per, engine.WindowUnset
	switch l.Kind {
	case engine.Quota:
		if l.Per, l.Window = 0, per.window; per.window == engine.WindowUnset {
			o.fail(field, "is no calendar window; a quota counts per min, h, day or month")
		}
	default:
		if per.per == 0 {
			o.fail(field, "has months, which only a quota can count; write days, such as 30day, or kind: quota")
		}
		if l.Kind == engine.TokenBucket {
			l.Burst = count
		}
	}
}

// behaviour reads what a limit does with its verdicts.
func (o *object) behaviour(l *engine.Limit) {
	l.Mode = o.mode("mode")
	l.Fail = engine.Fail(o.oneOf("fail", "open", "closed"))
	l.Overflow = engine.Overflow(o.oneOf("overflow", "shared", "open", "closed"))
	n := o.get("sync")
	if n == nil {
		return
	}
	ways := []string{engine.SyncOff.String(), engine.SyncShare.String(), engine.SyncStrict.String()}
	if n.kind == kindText {
		l.Sync.Mode = engine.SyncMode(o.oneOf("sync", ways...))
		return
	}
	s := o.r.object(n, join(o.path, "sync"))
	l.Sync.Mode = engine.SyncMode(s.oneOf("mode", ways...))
	l.Sync.OnStale = engine.Stale(s.oneOf("on_stale", "default", "share", "open", "closed"))
	l.Sync.Floor = s.share("floor", 0)
	l.Sync.Grace = s.duration("grace")
	l.Sync.Cold = engine.Cold(s.oneOf("cold", "balanced", "optimistic", "conservative"))
	s.done()
}
