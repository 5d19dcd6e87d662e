package fleet

import (
	"context"
	"time"
)

// call is one exchange with the store: batches, or a beat.
type call struct {
	lanes   []*lane
	batches []*Batch
	beat    *Beat
	reply   BeatReply
	err     error
	boot    Boot
	timeout time.Duration
}

// step makes what is to be sent now. regular: it is a tick, and not only
// urgent keys have asked for it. mu is held.
func (f *Fleet) step(now int64, regular bool) (calls []*call) {
	f.collect()
	n := maxTick
	var well, ill call
	for _, ln := range f.lanes {
		if ln.flying {
			continue
		}
		to := &well
		switch {
		case f.down(ln.id):
			f.shutting(ln, now)
			if now < ln.retry {
				continue
			}
			if to = &ill; ln.frozen {
				f.again(ln, now)
			} else {
				f.probe(ln, now)
			}
		case ln.frozen:
			if !regular {
				continue
			}
			to = &ill
			f.again(ln, now)
		default:
			most := min(maxBatch, n)
			if ln.since != 0 {
				most = min(most, maxTick/4/len(f.lanes)+1)
				if now-ln.since > recoverHold {
					ln.since = 0
				}
			}
			if most == 0 || !f.build(ln, now, most) {
				continue
			}
			n -= len(ln.index)
		}
		ln.flying, ln.sent = true, now
		to.lanes = append(to.lanes, ln)
		to.batches = append(to.batches, ln.batch)
	}
	// A shard in trouble must not make the others wait for its time-out.
	for _, c := range []*call{&well, &ill} {
		if len(c.lanes) > 0 {
			c.boot, c.timeout = f.boot, f.timeout(c.lanes)
			calls = append(calls, c)
		}
	}
	if !f.ledger.flying && (regular || f.ledger.pressed(f)) {
		calls = append(calls, &call{beat: f.ledger.next(f, now, regular), boot: f.boot, timeout: f.timeout(nil)})
	}
	if regular {
		f.ticked.Store(now)
	}
	return calls
}

// timeout is for the slowest of the lanes.
func (f *Fleet) timeout(lanes []*lane) time.Duration {
	rtt := 0.0
	for _, ln := range lanes {
		rtt = max(rtt, ln.rtt)
	}
	if lanes == nil {
		return time.Duration(maxTimeout)
	}
	if rtt == 0 {
		return time.Duration(maxTimeout)
	}
	return time.Duration(min(max(int64(4*rtt)+2*minUrgent, minTimeout), maxTimeout))
}

// do carries out a call; mu is not held.
func (f *Fleet) do(c *call) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	if c.beat != nil {
		c.reply, c.err = f.cfg.Transport.Beat(ctx, c.boot, c.beat)
		return
	}
	f.cfg.Transport.Push(ctx, c.boot, c.batches)
}

// done takes what came of a call; more is true when there is more to send at
// once. mu is held.
func (f *Fleet) done(c *call, now int64) (more bool) {
	if c.boot != f.boot {
		return false // of the loop before this one
	}
	if c.beat != nil {
		f.ledger.took(f, c.reply, c.err, now)
		return false
	}
	for _, ln := range c.lanes {
		if ln.batch.Err != nil {
			f.failed(ln, now)
			continue
		}
		f.answered(ln, now)
		more = more || ln.more
	}
	return more
}

// pause is until the next tick: the period give or take a tenth, so that
// instances drift apart, and longer where the fleet as a whole would ask too
// much of the store.
func (f *Fleet) pause() time.Duration {
	busy := 1
	for _, ln := range f.lanes {
		if len(ln.queue) > 0 {
			busy++
		}
	}
	d := max(float64(f.cfg.Period), f.instances()*float64(busy)/budget*1e9)
	return time.Duration(d * (0.9 + 0.2*f.rand.Float64()))
}
