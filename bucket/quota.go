package bucket

import (
	"fmt"
)

// Quota: [window 16 | used 40]. The window is the calendar's number of it,
// modulo 2^16.
const (
	quotaBits  = 40
	quotaUsed  = 1<<quotaBits - 1
	quotaIndex = 1<<16 - 1
)

// NewQuota returns the rule of n units per window of the calendar, 1 to
// 1,099,511,627,774.
func NewQuota(n int64, cal *Calendar) (Rule, error) {
	switch {
	case n < 1:
		return Rule{}, errRate(n)
	case n >= quotaUsed:
		return Rule{}, fmt.Errorf("rate %d: must be below %d", n, int64(quotaUsed))
	}
	return Rule{Kind: Quota, max: n, cal: cal}, nil
}

// UsedIn returns what a quota's word has used of its window.
func UsedIn(w uint64) int64 { return int64(w & quotaUsed) }

// QuotaPart returns a quota's word of the same window that has used n alone.
func QuotaPart(w uint64, n int64) uint64 { return w&^quotaUsed | uint64(n) }

func window(at uint64) uint64 { return at & quotaIndex }

// enter moves the word on to the instant's window. A word that is ahead of the
// instant (whose clock was read earlier) stays where it is.
func enter(w, at uint64) uint64 {
	steps := (at - (w&Payload)>>quotaBits) & quotaIndex
	if steps == 0 || steps > quotaIndex/2 {
		return w
	}
	return w&^uint64(Payload) | window(at)<<quotaBits
}

func usedAt(w, at uint64) int64 { return int64(enter(w, at) & quotaUsed) }

func (r *Rule) takeQuota(w, at uint64, cost int64) (uint64, bool) {
	e := enter(w, at)
	if int64(e&quotaUsed)+cost > r.max {
		return w, false
	}
	return e + uint64(cost), true
}

// chargeQuota keeps one below the top, which would be the reserved payload.
func (r *Rule) chargeQuota(w, at uint64, cost int64) (uint64, bool) {
	e := enter(w, at)
	room := int64(quotaUsed-1) - int64(e&quotaUsed)
	return e + uint64(min(cost, room)), cost <= room
}

func undoQuota(w, done uint64, cost int64) uint64 {
	if (w^done)&Payload>>quotaBits != 0 {
		return w
	}
	return w - min(uint64(cost), w&quotaUsed)
}

func (r *Rule) waitQuota(w, at uint64, now, cost int64) int64 {
	e := enter(w, at)
	if int64(e&quotaUsed)+cost <= r.max {
		return 0
	}
	return max(1, r.cal.end((e&Payload)>>quotaBits, now)-now)
}
