package bucket

import (
	"math"
	"time"
)

// Kind is the meaning of a word's payload.
type Kind uint8

// The kinds. The zero value means no rule.
const (
	None Kind = iota
	Token
	Quota
	Sliding
	Flight
	Hold
)

const (
	// Payload masks what a step may change; the rest of a word is its version.
	Payload = 1<<56 - 1
	// Frozen is the payload of a word in transition.
	Frozen = Payload
	// VersionOne is one step of a word's version.
	VersionOne = 1 << 56
	// half divides the ring of payloads: what is less than half ahead is ahead.
	half = 1 << 55
)

// IsFrozen reports whether a word is in transition.
func IsFrozen(w uint64) bool { return w<<8 == Frozen<<8 }

// Never is the wait for something that waiting does not bring.
const Never = math.MaxInt64

// Rule is what the words of one limit are counted by. It is immutable but for
// the calendar of a quota, whose windows are moved on by [Calendar.Update];
// its methods are safe for concurrent use and do not allocate.
type Rule struct {
	Kind Kind

	clock line   // Token, Hold: the virtual token clock
	k     uint64 // Token, Hold: units per token
	recip uint64 // of k: floor((2^64-1)/k)
	burst uint64 // Token, Hold: units in a full bucket
	max   int64  // what can ever be held at once: tokens, units, requests
	sub   int64  // Sliding: length of a sub-window in ns
	cal   *Calendar

	rate, per int64 // Token, Hold: as configured, in lowest terms
}

// Max returns the largest cost that can ever pass.
func (r *Rule) Max() int64 { return r.max }

// SameWindows reports whether the words of prev, of the same kind, count in the
// same windows as those of r.
func (r *Rule) SameWindows(prev *Rule) bool {
	return r.sub == prev.sub && (r.cal == nil || r.cal.Same(prev.cal))
}

// With returns the rule with the calendar of prev.
func (r Rule) With(prev *Rule) Rule {
	r.cal = prev.cal
	return r
}

// Calendar returns the calendar of a quota, nil for other kinds.
func (r *Rule) Calendar() *Calendar { return r.cal }

// At returns the instant now (ns since the engine's epoch) on the rule's own
// clock: token units, window or sub-window. Steps take instants, not times.
func (r *Rule) At(now int64) uint64 {
	switch r.Kind {
	case Token, Hold:
		return r.TokenAt(now)
	case Quota:
		return r.cal.at(now)
	case Sliding:
		return uint64(now) / uint64(r.sub)
	}
	return 0
}

// TokenAt is At for a Token or a Hold, small enough to be inlined.
func (r *Rule) TokenAt(now int64) uint64 { return r.clock.at(now) }

// Take charges cost, 0 to Max, at the instant. When it does not fit, ok is
// false and the word comes back as it was.
func (r *Rule) Take(w, at uint64, cost int64) (next uint64, ok bool) {
	switch r.Kind {
	case Token:
		return r.TakeToken(w, at, uint64(cost))
	case Flight:
		return r.TakeFlight(w, cost)
	case Quota:
		return r.takeQuota(w, at, cost)
	case Sliding:
		return r.takeSliding(w, at, cost)
	}
	return w, false
}

// Charge takes cost whether or not it fits, up to what the word can hold;
// exact is false when it could not hold it all. It is how a settlement charges
// what was used.
func (r *Rule) Charge(w, at uint64, cost int64) (next uint64, exact bool) {
	switch r.Kind {
	case Token, Hold:
		return r.chargeToken(w, at, cost)
	case Quota:
		return r.chargeQuota(w, at, cost)
	}
	return w, false
}

// Undo takes back a charge of cost whose step returned the word done, from the
// word w as it is now, at an instant that was read after w. It never gives
// back more than is owed at that instant, and gives nothing back once the
// charge's window has passed. It may give back less: what the bucket would have
// refilled meanwhile is gone.
func (r *Rule) Undo(w, at, done uint64, cost int64) uint64 {
	switch r.Kind {
	case Token:
		return r.undoToken(w, at, done, cost)
	case Quota:
		return undoQuota(w, done, cost)
	case Sliding:
		return undoSliding(w, done, cost)
	case Flight:
		return undoFlight(w, cost)
	}
	return w
}

// Wait returns how many ns after now the cost fits if nothing else happens:
// 0 if it fits already, Never if it cannot. at is the instant of now.
func (r *Rule) Wait(w, at uint64, now, cost int64) int64 {
	if cost > r.max {
		return Never
	}
	switch r.Kind {
	case Token:
		return r.waitToken(r.debt(w, at), now, cost)
	case Quota:
		return r.waitQuota(w, at, now, cost)
	case Sliding:
		return r.waitSliding(w, at, now, cost)
	case Flight:
		if _, ok := r.TakeFlight(w, cost); ok {
			return 0
		}
	}
	return Never
}

// Left returns how much more would fit at the instant, never negative.
func (r *Rule) Left(w, at uint64) int64 {
	switch r.Kind {
	case Token:
		return r.LeftToken(w, at)
	case Quota:
		return max(0, r.max-usedAt(w, at))
	case Sliding:
		return max(0, r.max-sum(slideTo(w, at)))
	case Flight:
		return max(0, r.max-InUse(w))
	}
	return 0
}

// Fresh returns the state of a key never seen, at the instant, as the successor
// of the word prev in the same place: the version is kept, generations advance.
func (r *Rule) Fresh(prev, at uint64) uint64 {
	v := prev &^ uint64(Payload)
	switch r.Kind {
	case Token:
		if at &= Payload; at == Frozen {
			at-- // behind the instant owes nothing too
		}
		return v | at
	case Quota:
		return v | window(at)<<quotaBits
	case Sliding:
		return v | subIndex(at)<<slideBits
	case Flight:
		return v | ((prev&Payload)>>flightBits+1)&flightGen<<flightBits
	case Hold:
		return v | ((prev&Payload)>>holdBits+1)&holdSeq<<holdBits
	}
	return v
}

// Idle reports whether the word says no more than that of a key never seen, so
// that dropping it changes no later decision.
func (r *Rule) Idle(w, at uint64) bool {
	switch r.Kind {
	case Token:
		return r.debt(w, at) == 0
	case Quota:
		return usedAt(w, at) == 0
	case Sliding:
		return sum(slideTo(w, at)) == 0
	case Flight:
		return InUse(w) == 0
	case Hold:
		return Held(w) == 0
	}
	return true
}

// Renew returns the same state as w in the terms of the instant. A word means
// what it says only while its instant is within half a turn of the ring; a
// sweep that renews every word within [Rule.Span] keeps it so for ever.
func (r *Rule) Renew(w, at uint64) uint64 {
	switch r.Kind {
	case Token:
		// A word that fell behind lately is left alone: writing it would cost every
		// reader its cache line.
		if lag := (at - w) & Payload; lag < half && lag >= half/4 {
			return r.Fresh(w, at)
		}
	case Quota:
		return enter(w, at)
	case Sliding:
		return slideTo(w, at)
	}
	return w
}

// Span returns within which time every word must be renewed: a quarter of the
// time for which an idle word is good.
func (r *Rule) Span() time.Duration {
	switch r.Kind {
	case Token:
		return r.clock.span(half / 4)
	case Sliding:
		return time.Duration(satMul(r.sub, 1<<(slideIndexBits-2)))
	case Quota:
		return 1 << 13 * time.Minute // a quarter of half the ring of the shortest window
	}
	return math.MaxInt64
}

func satMul(a, b int64) int64 {
	if a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}
