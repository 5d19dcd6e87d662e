//go:build explore

package shard

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/internal/explore"
)

// postpaid is a bucket with the holds beside it.
type postpaid struct {
	bucket limit
	hold   limit
}

func (w *world) postpaid(burst int64) postpaid {
	b := w.token(burst)
	h, err := b.Rule.HoldFor()
	require.NoError(w.t, err)
	return postpaid{b, w.assign(&h)}
}

// job is one post-paid request.
type job struct {
	postpaid
	h    uint64
	hold acct
	used int64
}

func (p postpaid) of(h uint64) job { return job{postpaid: p, h: h, hold: p.hold.of(h)} }

func (j *job) start(estimate int64) bool {
	a := &j.hold
	defer a.summary()
	now := a.Now()
	a.Claim = Claim{H: j.h, Cost: estimate, Rule: a.Rule, ID: a.ID, BucketID: j.bucket.ID}
	if a.tab.Look(&a.Claim, now) && a.tab.Commit(&a.Claim) || a.tab.Take(&a.Claim, now, true) == Taken {
		a.admitted += estimate
		return true
	}
	return false
}

// end charges what was used and lets go of the estimate, in this order.
func (j *job) end(actual int64) {
	c := Claim{H: j.h, Cost: actual, Rule: j.bucket.Rule, ID: j.bucket.ID}
	j.hold.tab.Charge(&c)
	j.used += actual
	j.hold.tab.ReleaseHold(j.hold.Claim.Slot, uint8(j.hold.Claim.Word>>56), j.hold.Claim.Cost)
	j.hold.summary() // used follows from the claim
}

func (j *job) debt() int64 { b := j.bucket.of(j.h); return b.arrival() }

func (j *job) held() int64 {
	if s, w := j.hold.tab.Find(j.h, j.hold.ID); s != None {
		return bucket.Held(w)
	}
	return 0
}

// A job that fills the bucket, while it runs and when it has ended, leaves no
// room for another: at no moment may the second see neither hold nor charge.
func TestExploreSettle(t *testing.T) {
	for _, known := range []bool{false, true} {
		w := newWorld(t, 3)
		p := w.postpaid(2)
		if known {
			j := p.of(0xa)
			require.True(t, j.start(1))
			j.end(0)
		}
		var a, b job
		w.explore(explore.Scenario{
			Reset: func() { a, b = p.of(0xa), p.of(0xa) },
			Threads: []func(){
				func() {
					if a.start(2) {
						a.end(2)
					}
				},
				func() { b.start(1) },
			},
			Final: func() error {
				return all(w.noTwins(),
					holds(a.hold.admitted == 0 || b.hold.admitted == 0, "both were admitted"),
					holds(a.debt() == a.used, "%d used, %d charged", a.used, a.debt()),
					holds(a.held() == b.hold.admitted, "%d running, %d held", b.hold.admitted, a.held()))
			},
		})
	}
}

// A running job settles while another asks and a third key wants the slots, of
// which there is one too few.
func TestExploreSettleWithReclaim(t *testing.T) {
	for _, early := range []bool{true, false} {
		w := newWorld(t, 2)
		p := w.postpaid(3)
		tok := w.token(1)
		began := p.of(0xa)
		require.True(t, began.start(1))
		var a, b job
		var c acct
		w.explore(explore.Scenario{
			Reset: func() {
				a, b, c = began, p.of(0xa), tok.of(0xc)
				b.hold.other, c.other = &c, &b.hold
			},
			Threads: []func(){
				func() { a.end(3) },
				func() {
					if early {
						c.take(1)
					}
					b.start(3)
					if !early {
						c.take(1)
					}
				},
			},
			Final: func() error {
				return all(w.noTwins(),
					holds(b.hold.admitted == 0, "admitted beside a job that runs, or has used all"),
					holds(a.held() == 0, "%d held for ever", a.held()),
					holds(c.arrival() == c.admitted, "c: %d admitted, %d charged", c.admitted, c.arrival()))
			},
		})
	}
}
