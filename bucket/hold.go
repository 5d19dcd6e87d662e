package bucket

import "fmt"

// Hold: [sequence 16 | held 40], the sum of the estimates that are out beside a
// token bucket whose costs are known only afterwards. A bucket alone cannot
// refund exactly once others have charged it, so an estimate is held, not
// charged; settling charges what was used and then lets go. Held tokens do not
// drain. Every release advances the sequence, so that whoever decided on a sum
// of held and owed from before it cannot commit.
const (
	holdBits = 40
	holdMax  = 1<<holdBits - 1
	holdSeq  = 1<<16 - 1
)

// HoldFor returns the rule of the holds beside the bucket of the rule r.
func (r *Rule) HoldFor() (Rule, error) {
	if r.max >= holdMax {
		return Rule{}, fmt.Errorf("burst %d: must be below %d for a post-paid limit", r.max, int64(holdMax))
	}
	h := *r
	h.Kind = Hold
	return h, nil
}

// Held returns the sum of a hold word, in tokens.
func Held(w uint64) int64 { return int64(w & holdMax) }

// HoldPart returns a hold word of the same sequence that holds n alone.
func HoldPart(w uint64, n int64) uint64 { return w&^holdMax | uint64(n) }

// TakeHold holds an estimate, 0 to Max, if it fits beside what is held (w) and
// owed (the bucket's word). The bucket's word must have been loaded after w.
func (r *Rule) TakeHold(w, bucket, at uint64, estimate int64) (next uint64, ok bool) {
	want := uint64(Held(w) + estimate)
	if want > uint64(r.max) || r.debt(bucket, at)+want*r.k > r.burst {
		return w, false
	}
	return w + uint64(estimate), true
}

// WaitHold is Wait for an estimate.
func (r *Rule) WaitHold(w, bucket, at uint64, now, estimate int64) int64 {
	want := Held(w) + estimate
	if want > r.max {
		return Never // as long as what is held stays held
	}
	return r.waitToken(r.debt(bucket, at), now, want)
}

// LeftHold is Left for an estimate.
func (r *Rule) LeftHold(w, bucket, at uint64) int64 {
	return max(0, r.LeftToken(bucket, at)-Held(w))
}

// ReleaseHold lets go of an estimate.
func ReleaseHold(w uint64, estimate int64) uint64 {
	held := uint64(Held(w) - min(estimate, Held(w)))
	seq := ((w&Payload)>>holdBits + 1) & holdSeq
	return w&^uint64(Payload) | seq<<holdBits | held
}
