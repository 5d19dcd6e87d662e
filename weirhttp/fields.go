package weirhttp

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/weir-go/weir/engine"
)

// Draft is a revision of the IETF draft on RateLimit fields
// (draft-ietf-httpapi-ratelimit-headers). It is not a standard: field
// parameters and problem types may change with every revision, which is why
// nothing of it is sent unless [Fields] asks for one.
type Draft uint8

// The revisions.
const (
	DraftNone Draft = iota // Retry-After only
	Draft11                // lists of items: "name";q=100;w=60 and "name";r=50;t=30
)

// Fields adds RateLimit-Policy and RateLimit to every answer that a limit had a
// say in, about the limit that refused or else the tightest one, and uses the
// draft's problem types in refusals. What remains is no promise: the next
// request may be refused by another layer. Costs about 4 allocations per
// answer. [Handler] panics on a revision that is none of the constants.
func Fields(d Draft) Option {
	return func(c *config) { c.draft = d }
}

// check returns an error for a revision that this package does not speak.
func (d Draft) check() error {
	if d > Draft11 {
		return fmt.Errorf("fields: draft %d: is not known; DraftNone and Draft11 are", d)
	}
	return nil
}

// The draft's problem types. IANA lists them once the draft is an RFC.
const (
	typeQuota   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	typeReduced = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// fields adds the RateLimit fields for a decision.
func (d *door) fields(w http.ResponseWriter, v engine.Decision) {
	if d.draft == DraftNone || v.Limit == 0 || v.Remaining < 0 {
		return
	}
	l, ok := d.engine.LimitConfig(v.Limit)
	if !ok {
		return
	}
	h := w.Header()
	h["Ratelimit-Policy"] = []string{policyItem(l)}
	h["Ratelimit"] = []string{stateItem(l, v)}
}

// policyItem describes a limit: q events in a window of w seconds, or q at once.
func policyItem(l engine.Limit) string {
	b := make([]byte, 0, 96)
	b = append(append(append(b, '"'), l.Name...), `";q=`...) // a name needs no escapes
	switch l.Kind {
	case engine.InFlight:
		b = strconv.AppendInt(b, l.Max, 10)
		b = append(b, `;qu="concurrent-requests"`...)
	case engine.Quota:
		b = strconv.AppendInt(b, l.Rate, 10)
		if w := calendar(l.Window); w > 0 {
			b = strconv.AppendInt(append(b, ";w="...), w, 10)
		}
	default:
		q, w := perSeconds(l.Rate, l.Per)
		b = strconv.AppendInt(b, q, 10)
		if w > 0 {
			b = strconv.AppendInt(append(b, ";w="...), w, 10)
		}
	}
	return string(b)
}

// stateItem says what remains: r events now, and after t seconds at the latest
// more of them. t is known for a refusal and for a bucket that drips.
func stateItem(l engine.Limit, v engine.Decision) string {
	b := make([]byte, 0, 96)
	b = append(append(append(b, '"'), l.Name...), `";r=`...)
	b = strconv.AppendInt(b, v.Remaining, 10)
	switch {
	case !v.OK() && v.RetryAfter >= 0:
		b = strconv.AppendInt(append(b, ";t="...), wholeSeconds(v.RetryAfter), 10)
	case v.OK() && l.Kind == engine.TokenBucket && l.Rate > 0:
		b = strconv.AppendInt(append(b, ";t="...), wholeSeconds(l.Per/time.Duration(l.Rate)), 10)
	}
	return string(b)
}

// calendar is a window's length in seconds, 0 for a month, which has none.
func calendar(w engine.Window) int64 {
	switch w {
	case engine.Minute:
		return 60
	case engine.Hour:
		return 3600
	case engine.Day:
		return 86400
	}
	return 0
}

// perSeconds expresses a rate over whole seconds: exactly where a small
// multiple of per is whole, and otherwise a little less than the truth.
func perSeconds(rate int64, per time.Duration) (q, w int64) {
	if per <= 0 {
		return rate, 0
	}
	for k := int64(1); k <= 1000; k *= 10 {
		if all := time.Duration(k) * per; all%time.Second == 0 && all/time.Duration(k) == per {
			return rate * k, int64(all / time.Second)
		}
	}
	w = wholeSeconds(per)
	return int64(float64(rate) * float64(w) / per.Seconds()), w
}
