package fleettest

import (
	"encoding/binary"
	"math"

	"github.com/weir-go/weir/fleet"
)

// call is one execution of the batch script.
type call struct {
	s      *Store
	now    float64
	b      *fleet.Batch
	boot   fleet.Boot
	dup    bool
	same   bool   // the duplicate of the very last batch
	old    []byte // what that was granted
	grants []float64
}

// Push executes a batch at the store's time now, in microseconds.
func (s *Store) Push(now float64, boot fleet.Boot, b *fleet.Batch) {
	s.Commands++
	c := &call{s: s, now: now, b: b, boot: boot}
	prev := 0.0
	if raw, ok := s.Get(Seq(b.Shard, boot), now); ok {
		if f, ok := unpack(raw, 1); ok && f[0] >= 0 && f[0] < 1e16 {
			prev, c.old = f[0], raw[8:]
		}
	}
	seq := float64(b.Seq)
	c.dup, c.same = prev >= seq, prev == seq
	// All values are read before the first is written.
	vals := make([][]byte, len(b.Items))
	for i := range b.Items {
		vals[i], _ = s.Get(NameOf(b.Shard, &b.Items[i]), now)
	}
	b.Now, b.Prev, b.Err = now, uint64(prev), nil
	b.Answers = make([]fleet.Answer, len(b.Items))
	for i := range b.Items {
		it := &b.Items[i]
		switch it.Op {
		case fleet.OpRate:
			b.Answers[i] = c.rate(it, vals[i])
		case fleet.OpLease:
			b.Answers[i] = c.lease(it, vals[i])
		case fleet.OpQuota:
			b.Answers[i] = c.quota(it, vals[i])
		case fleet.OpHold, fleet.OpKeep:
			b.Answers[i] = c.hold(it, vals[i])
		}
	}
	if !c.dup {
		s.Set(Seq(b.Shard, boot), now, fleet.SeqTTL, pack(append([]float64{seq}, c.grants...)...))
	}
}

func (c *call) keep(it *fleet.Item, us float64, raw []byte) {
	c.s.Set(NameOf(c.b.Shard, it), c.now, us, raw)
}

func (c *call) again() float64 {
	if !c.same || len(c.old) < 8 {
		return 0
	}
	g := math.Float64frombits(binary.LittleEndian.Uint64(c.old))
	c.old = c.old[8:]
	return g
}

type bucket struct{ tat, s, ts, born float64 }

func (c *call) bucket(raw []byte, t, tau, hi, x0 float64) bucket {
	k := bucket{fleet.None, 0, c.now, c.now}
	if v, ok := Unpack(raw); ok {
		is := min(v.Counted, c.now)
		k = bucket{v.Arrival, v.Attempts, is, is - v.Age}
		if math.Abs(v.Per-t) > 1e-6*t {
			k.tat = c.now + (k.tat-c.now)*(t/v.Per)
		}
	}
	k.tat = max(k.tat, x0)
	if k.tat > c.now+hi {
		k.tat = c.now + tau
	}
	return k
}

func (c *call) attempts(k *bucket, att float64) {
	k.s *= math.Exp((k.ts - c.now) / c.b.Decay)
	if k.s < 0.5 {
		k.born = c.now
	}
	k.s += att
}

func (c *call) keepBucket(it *fleet.Item, k bucket, t float64) {
	c.keep(it, max(fleet.MinTTL, k.tat-c.now+10*c.b.Decay),
		Value{k.tat, c.now, k.s, t, c.age(k)}.Pack())
}

func (c *call) age(k bucket) float64 { return min(c.now-k.born, fleet.MaxAge) }

func (c *call) rate(it *fleet.Item, raw []byte) fleet.Answer {
	a := &it.Arg
	hi, t := a[fleet.RateHi], a[fleet.RateT]
	k := c.bucket(raw, t, a[fleet.RateTau], hi, a[fleet.RateX0])
	if !c.dup {
		c.attempts(&k, a[fleet.RateAtt])
		k.tat = min(max(k.tat+a[fleet.RateA]*t, c.now+a[fleet.RateU]), c.now+hi)
		c.keepBucket(it, k, t)
	}
	return fleet.Answer{k.tat, k.s, c.age(k)}
}

func (c *call) lease(it *fleet.Item, raw []byte) fleet.Answer {
	a := &it.Arg
	t, tau := a[fleet.LeaseT], a[fleet.LeaseTau]
	// Whoever shares the bucket may have run it into debt, which stays.
	k := c.bucket(raw, t, tau, tau+max(tau, fleet.MinDebt), fleet.None)
	if c.dup {
		return fleet.Answer{k.tat, k.s, c.again()}
	}
	c.attempts(&k, a[fleet.LeaseAtt])
	if give := a[fleet.LeaseGive]; give > 0 {
		k.tat -= max(0, give*t-max(0, c.now-a[fleet.LeaseM]))
	} else if give < 0 {
		k.tat = max(k.tat, min(max(k.tat, c.now)-give*t, c.now+tau))
	}
	base := max(k.tat, c.now)
	g := grant(a[fleet.LeaseWant], a[fleet.LeaseMin], a[fleet.LeaseFrac], math.Floor((tau-(base-c.now))/t+1e-6))
	if g > 0 {
		k.tat = base + g*t
	}
	c.grants = append(c.grants, g)
	c.keepBucket(it, k, t)
	return fleet.Answer{k.tat, k.s, g}
}

func grant(want, least, frac, free float64) float64 {
	g := min(want, max(least, math.Floor(frac*free)), free)
	if g < least || g < 1 {
		return 0
	}
	return g
}

func (c *call) quota(it *fleet.Item, raw []byte) fleet.Answer {
	a := &it.Arg
	var base, since, gen float64
	if f, ok := unpack(raw, 3); ok && f[0] >= 0 && f[0] < 1e15 && f[1] > -1e15 && f[1] < 1e15 && f[2] > -1e17 && f[2] < 1e17 {
		base, since, gen = f[0], f[1], f[2]
	}
	if c.dup {
		return fleet.Answer{base + since, gen, c.again()}
	}
	if gen == 0 {
		gen = c.now
	}
	if a[fleet.QuotaGen] != 0 && a[fleet.QuotaGen] != gen {
		base = max(base, a[fleet.QuotaX0])
	}
	since = max(since-a[fleet.QuotaGive], -base)
	g := grant(a[fleet.QuotaWant], a[fleet.QuotaMin], a[fleet.QuotaFrac], a[fleet.QuotaCap]-base-since)
	since += g
	c.grants = append(c.grants, g)
	c.keep(it, a[fleet.QuotaTTL], pack(base, since, gen))
	return fleet.Answer{base + since, gen, g}
}

func (c *call) hold(it *fleet.Item, raw []byte) fleet.Answer {
	a := &it.Arg
	used, held, want, most := a[fleet.HoldUsed], a[fleet.HoldHeld], a[fleet.HoldWant], a[fleet.HoldMost]
	limit, ttl := a[fleet.HoldMax], a[fleet.HoldTTL]
	var rest []byte
	n, sum, wants, mine := 1.0, 0.0, want, 0.0
	for p := raw; len(p) >= 32; p = p[32:] {
		f, _ := unpack(p[8:], 3)
		switch q, w, till := f[0], f[1], f[2]; {
		case string(p[:8]) == string(c.boot[:8]):
			mine = q
		case till > c.now && till <= c.now+ttl+1e6 && q >= 0 && q < 1e9 && w >= 0 && w < 1e9:
			rest = append(rest, p[:32]...)
			n, sum, wants = n+1, sum+q, wants+w
		}
	}
	if c.dup {
		return fleet.Answer{mine, n, sum + mine}
	}
	least := min(1, want) // or of more holders than places none would get any
	g := max(0, min(max(least, math.Floor(aim(want, wants, limit, n))), limit-sum, most))
	q := max(g, held, used)
	if want > 0 || q > used || used > 0 {
		rest = append(append(rest, c.boot[:8]...), pack(q, want, c.now+ttl)...)
	}
	if len(rest) > 0 {
		c.keep(it, 2*ttl, rest)
	} else {
		delete(c.s.vals, NameOf(c.b.Shard, it))
	}
	return fleet.Answer{g, n, sum + q}
}

// aim divides what there is among those who want it: all of it when it is not
// enough, and what is left over in equal parts when it is.
func aim(want, wants, all, n float64) float64 {
	if wants <= all {
		return want + (all-wants)/n
	}
	return max(min(want, all/n), all*want/wants)
}
