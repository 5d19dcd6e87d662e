package fleet

import (
	"context"
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/weir-go/weir/engine"
)

// ledger is this instance's side of the fleet's reservation: what its gate may
// admit of non-critical requests, and until when.
type ledger struct {
	beat    Beat // the last one made
	reply   BeatReply
	last    uint64 // the number of the beat that reply was for
	heard   int64  // when the last reply came; 0: never
	sent    int64  // when the last beat went out
	flying  int    // beats on their way
	retry   int64  // after a long silence: when to try next
	quota   int
	base    int
	until   int64
	failing int64
	wake    chan struct{} // the gate sends here when it refuses
	refused bool          // it has, since the last beat
	hurried bool          // the beat on its way was made for that
	vain    bool          // and the last such brought nothing
	strange bool
	apart   bool // it has used its part without ever having been heard
	bounded bool // the gate has a total of the fleet's
}

// begin gives the gate what is safe before the fleet has been heard: its own
// part of the capacity that it brings along, and nothing of one that the
// others have leased already.
func (g *ledger) begin(f *Fleet, use engine.GateUse) {
	g.wake = make(chan struct{}, 1)
	if use.Capacity > 0 && f.cfg.Reservation.Fixed == 0 {
		g.alone(f, use)
	} else if use.Capacity > 0 {
		f.host.LeaseGate(engine.GateLease{Wake: g.wake})
	}
}

// alone gives the gate what it may use when the fleet does not answer at all.
func (g *ledger) alone(f *Fleet, use engine.GateUse) {
	g.quota = int(g.safe(f, use))
	g.base, g.apart = g.quota, true
	f.host.LeaseGate(engine.GateLease{Other: g.quota, Fallback: g.base, Wake: g.wake})
}

func (g *ledger) safe(f *Fleet, use engine.GateUse) float64 {
	all := math.Floor((1-use.Reserve)*float64(use.Capacity) + 1e-9)
	if c := f.cfg.Reservation.Fixed; c > 0 {
		all = 0
		if f.cfg.Expected > 0 {
			all = math.Floor(math.Floor((1-use.Reserve)*float64(c)+1e-9) / float64(f.cfg.Expected))
		}
	}
	return all
}

// next makes the next beat; nil: it is not time for one.
func (g *ledger) next(f *Fleet, now int64, regular bool) *Beat {
	switch {
	case !regular && (g.flying > 0 || !g.pressed()):
		return nil
	case g.flying >= maxTries, g.flying > 0 && now-g.sent < maxWait, now < g.retry:
		return nil
	}
	use := f.host.GateUse()
	r := f.cfg.Reservation
	// Without a valid lease it still uses its base, which the store must not give
	// away because a beat that said otherwise was never answered.
	held, base := 0.0, 0.0
	if g.heard != 0 || g.apart {
		base = float64(g.base)
	}
	switch {
	case g.heard != 0 && now <= g.until:
		held = float64(g.quota)
	default:
		held = min(float64(g.quota), base)
	}
	want := min(float64(use.Capacity), math.Ceil(1.25*float64(max(use.Peak, use.Other)))+1+float64(use.Refused))
	ttl := float64(f.cfg.ttl()) / 1e3
	g.beat = Beat{
		Group: r.Group, Tick: g.beat.Tick + 1,
		Capacity: float64(use.Capacity), Critical: float64(use.Critical), Other: float64(use.Other),
		Held: held, Want: want, U: f.rand.Float64(),
		TTL: ttl, Hold: max(ttl, float64(r.Request)/1e3), Grace: float64(r.Grace) / 1e3,
		Reserve: use.Reserve, Fixed: float64(r.Fixed), Expected: float64(f.cfg.Expected),
		Known: g.reply.Instances, Alone: g.safe(f, use), Base: base,
		Shards: float64(len(f.lanes)), Signature: g.signature(f, use),
	}
	g.sent, g.hurried = now, !regular
	g.flying++
	b := g.beat
	return &b
}

// signature is what instances of one group must have in common.
func (g *ledger) signature(f *Fleet, use engine.GateUse) float64 {
	if use.Capacity == 0 {
		return 0
	}
	var d xxhash.Digest
	d.Reset()
	for _, x := range [...]float64{use.Reserve, float64(f.cfg.Reservation.Fixed)} {
		var b [8]byte
		for i := range b {
			b[i] = byte(math.Float64bits(x) >> (8 * i))
		}
		_, _ = d.Write(b[:])
	}
	return float64(d.Sum64() >> 12)
}

// took takes a beat back.
func (g *ledger) took(f *Fleet, c *call, now int64) {
	g.flying--
	if c.err != nil {
		g.silent(f, c, now)
		return
	}
	if c.beat.Tick <= g.last {
		return // overtaken by a later one
	}
	if g.failing != 0 {
		f.log.Info("fleet: the instance's reports are answered again")
	}
	r := c.reply
	if r.Learning != 0 { // the store has forgotten the others; they have not gone
		r.Instances = max(r.Instances, g.reply.Instances)
	}
	f.relearn(now, g.heard != 0 && r.Learning > g.reply.Learning)
	g.failing, g.heard, g.reply, g.last = 0, now, r, c.beat.Tick
	f.setInstances(r.Instances)
	if strange := r.Strangers > 0; strange != g.strange {
		if g.strange = strange; strange {
			f.log.Warn("fleet: instances of the group have another number of shards, reserve or fixed capacity; limits are not shared with them",
				"instances", r.Strangers, "group", f.cfg.Reservation.Group)
		}
	}
	if c.beat.Capacity == 0 {
		return
	}
	g.vain = g.hurried && int(r.Quota) <= g.quota
	// More than its own capacity an instance can not use.
	g.quota, g.base = int(min(r.Quota, c.beat.Capacity)), int(min(r.Base, c.beat.Capacity))
	// From when the beat was sent, and less than the store waits.
	g.until = c.sent + int64(f.cfg.ttl())*3/4
	total, critical := g.total(f, c.beat)
	g.bounded = total > 0
	f.host.LeaseGate(engine.GateLease{Until: g.until, Other: g.quota, Fallback: min(g.quota, g.base), Total: total, Critical: critical, Wake: g.wake})
}

// total bounds the requests of this instance where the fleet has one capacity:
// all of them by what the others did not use when they were last heard, but
// for as many critical ones as are kept for critical traffic and not in use.
func (g *ledger) total(f *Fleet, b *Beat) (total, critical int) {
	if f.cfg.Reservation.Fixed == 0 {
		return 0, 0
	}
	c := g.reply.Critical - b.Critical
	total = max(1, int(g.reply.Capacity-c-(g.reply.Other-b.Other)))
	kept := g.reply.Capacity - math.Floor((1-b.Reserve)*g.reply.Capacity+1e-9)
	return total, max(1, int(kept-c))
}

// silentFor reports whether reports have been in vain for long.
func (g *ledger) silentFor(f *Fleet, now int64) bool {
	return g.failing != 0 && now-g.failing >= f.cfg.patience()
}

// silent takes a beat that had no reply.
func (g *ledger) silent(f *Fleet, c *call, now int64) {
	if g.failing == 0 {
		g.failing = c.sent
		f.log.Warn("fleet: no answer to the instance's report; the gate goes on with its lease, then with its own part", "error", c.err)
	}
	if g.silentFor(f, now) {
		g.retry = f.tryAgain(maxBackoff, now)
	}
	if g.heard == 0 && !g.apart && c.beat.Capacity > 0 {
		g.alone(f, engine.GateUse{Capacity: int(c.beat.Capacity), Reserve: c.beat.Reserve})
	}
	if g.bounded && now-g.heard > 2*int64(f.cfg.ttl()) { // what the others use is not known any more
		g.bounded = false
		f.host.LeaseGate(engine.GateLease{Until: g.until, Other: g.quota, Fallback: min(g.quota, g.base), Wake: g.wake})
	}
}

func (g *ledger) leave(ctx context.Context, f *Fleet) {
	if g.heard != 0 {
		_ = f.cfg.Transport.Leave(ctx, f.boot, f.cfg.Reservation.Group)
	}
}

// pressed reports whether the gate has refused for want of a lease, and asking
// at once may help: it does not when it did not the last time.
func (g *ledger) pressed() bool {
	pressed := g.refused && !g.vain && g.beat.Capacity > 0
	g.refused = false
	return pressed
}
