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
	sent    int64
	probe   bool // its shard is down
}

// step makes what is to be sent now. regular: it is a tick, and not only
// urgent keys have asked for it. mu is held.
func (f *Fleet) step(now int64, regular bool) (calls []*call) {
	f.collect()
	n := maxTick
	well := &call{boot: f.boot, sent: now}
	for _, ln := range f.lanes {
		to := well
		var b *Batch
		switch {
		case ln.open:
			if b = f.repeat(ln, now, regular); b == nil {
				continue
			}
			// A shard in trouble must not make the others wait.
			to = &call{boot: f.boot, sent: now}
			calls = append(calls, to)
		case f.down(ln.id):
			f.shutting(ln, now)
			if now < ln.retry {
				continue
			}
			f.probe(ln, now)
			b = ln.batch
			to = &call{boot: f.boot, sent: now, probe: true}
			calls = append(calls, to)
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
			b = ln.batch
		}
		ln.sent = now
		ln.tries++
		to.lanes = append(to.lanes, ln)
		to.batches = append(to.batches, b)
	}
	if len(well.lanes) > 0 {
		calls = append(calls, well)
	}
	if beat := f.ledger.next(f, now, regular); beat != nil {
		calls = append(calls, &call{beat: beat, boot: f.boot, sent: now})
	}
	if regular {
		f.ticked.Store(now)
	}
	return calls
}

// repeat is the lane's open batch, when it is time to send it again.
func (f *Fleet) repeat(ln *lane, now int64, regular bool) *Batch {
	if f.down(ln.id) {
		f.shutting(ln, now)
		if ln.tries > 0 || now < ln.retry {
			return nil
		}
		return f.again(ln, now)
	}
	if ln.tries > 0 {
		// Ever later, so that the calls of a second are not all out at once.
		if now-ln.sent < min(ln.wait<<(ln.tries-1), maxWait) {
			return nil
		}
		if f.missing(ln, now); f.down(ln.id) || ln.tries >= maxTries {
			return nil
		}
	}
	if !regular {
		return nil
	}
	return f.again(ln, now)
}

// within is how long a call waits for its reply.
func (c *call) within() time.Duration {
	if c.probe {
		return deadlineOut
	}
	return deadline
}

// do carries out a call; mu is not held.
func (f *Fleet) do(c *call) {
	ctx, cancel := context.WithTimeout(context.Background(), c.within())
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
		f.ledger.took(f, c, now)
		return false
	}
	for i, ln := range c.lanes {
		f.returned(ln, c.batches[i], c.sent, now)
		more = more || !ln.open && ln.more
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
