package fleet

import (
	"slices"

	"github.com/weir-go/weir/engine"
)

// The circuit of a lane: what becomes of a batch, and of the keys of a shard
// that does not answer.

// returned takes a call back that carried the lane's batch b, sent at a time.
func (f *Fleet) returned(ln *lane, b *Batch, sent, now int64) {
	if b.Seq != ln.seq || !ln.open {
		return // a batch that was answered by another call, or forgotten
	}
	ln.tries--
	if b.Err != nil {
		f.failed(ln, b.Err, now)
		return
	}
	f.answered(ln, b, sent, now)
}

// answered takes the reply to the lane's batch.
func (f *Fleet) answered(ln *lane, b *Batch, sent, now int64) {
	rtt := float64(now - sent)
	ln.rtt = max(rtt, ln.rtt+(rtt-ln.rtt)/8)
	ln.wait = min(max(int64(4*ln.rtt)+2*minUrgent, minWait), maxWait)
	ln.open, ln.failing, ln.why = false, 0, nil
	if f.down(ln.id) || f.unheard(ln, now) || ln.forgot(b, now) {
		f.learn(ln, now)
	}
	ln.acked, ln.told = now, b.Seq
	f.stats.acked++
	if b.Prev >= b.Seq {
		f.stats.duplicates++
	}
	if f.down(ln.id) {
		f.recover(ln, now)
	}
	limits := *f.table.limits.Load()
	ln.debt, ln.share = 0, 0
	for j, i := range ln.index {
		f.table.locked(i, func(e *entry, s *side) {
			if !ln.carries(j, e, limits) {
				return
			}
			s.flying = false
			s.ack = s.sent
			l, it := limits[e.Limit.Load()], &b.Items[j]
			switch it.Op {
			case OpLease, OpQuota:
				l.gotLease(it, b.Answers[j], e, s, now)
			case OpHold, OpKeep:
				l.gotHold(it, b.Answers[j], e, s, now, ln)
			default:
				l.gotShare(it, b.Answers[j], e, s, b.Now, sent, now)
			}
			s.replied, s.base = now, b.Now
			ln.debt += s.debt
			ln.share += s.share / float64(len(ln.index))
		})
	}
}

// failed takes an error: the batch stays as it is, and goes out again under the
// same number.
func (f *Fleet) failed(ln *lane, err error, now int64) {
	f.stats.failed++
	if ln.why == nil && !f.down(ln.id) {
		f.log.Warn("fleet: a shard does not answer; its keys go on with their last share", "shard", ln.id, "error", err)
	}
	ln.why = err
	f.missing(ln, now)
	if f.down(ln.id) && ln.tries == 0 {
		ln.backoff = min(2*ln.backoff, maxBackoff)
		ln.retry = f.tryAgain(ln.backoff, now)
		if !ln.grants() {
			f.drop(ln) // by the next try it would not be true any more
		}
	}
}

// missing notes that the lane's batch should have had a reply by now.
func (f *Fleet) missing(ln *lane, now int64) {
	if ln.failing == 0 {
		ln.failing = ln.made
	}
	if !f.down(ln.id) && now-ln.failing >= f.cfg.patience() {
		f.cut(ln, now)
	}
}

// tryAgain is when to try again what was in vain: after half of d to d, and up to
// one and a half when d has become as long as it may: instances lose the store at
// the same moment and should not find it at one. All shards and the reports of an
// instance try at the same moments, or each instance would have one that tries at
// any moment.
func (f *Fleet) tryAgain(d, now int64) int64 {
	most := d
	if d == maxBackoff {
		most += d / 2
	}
	if f.trying <= now || f.trying > now+most {
		f.trying = now + d/2 + f.rand.Int64N(most-d/2+1)
	}
	return f.trying
}

// again is the lane's batch once more, for a call beside the one that has it:
// whichever is executed first counts, and whichever is answered first is
// believed.
func (f *Fleet) again(ln *lane, now int64) *Batch {
	f.stats.resent++
	b := &Batch{Shard: ln.batch.Shard, Seq: ln.batch.Seq, Decay: ln.batch.Decay, Items: slices.Clone(ln.batch.Items)}
	for j := range b.Items {
		if it := &b.Items[j]; it.Op == OpRate {
			it.Arg[RateU] -= float64(now-ln.made) / 1e3 // refilled meanwhile
		}
	}
	return b
}

// cut declares the shard down: its keys are spent without the fleet.
func (f *Fleet) cut(ln *lane, now int64) {
	f.downAt[ln.id].Store(now + 1)
	ln.backoff = minBackoff
	ln.retry = f.tryAgain(ln.backoff, now)
	ln.since = 0
	f.log.Warn("fleet: shard is cut off; its limits go on by on_stale", "shard", ln.id, "error", ln.why)
	if ln.open && !ln.grants() {
		f.drop(ln)
	}
	for _, l := range *f.table.limits.Load() {
		if l != nil && l.stale() == engine.StaleClosed && !l.leased() {
			ln.shut = append(ln.shut, now+int64(l.grace()))
		}
	}
	f.goOut(ln)
}

// goOut makes the keys of a shard that is down live by their limits' on_stale.
func (f *Fleet) goOut(ln *lane) {
	f.eachOf(ln, func(l *limit, e *entry, s *side) { l.goOut(e, s) })
}

// shutting does so again for the limits whose grace has ended.
func (f *Fleet) shutting(ln *lane, now int64) {
	n := len(ln.shut)
	ln.shut = slices.DeleteFunc(ln.shut, func(at int64) bool { return at <= now })
	if len(ln.shut) < n {
		f.goOut(ln)
	}
}

// grants reports whether the batch that had no reply may have leased something:
// then its reply is worth asking for as long as the store remembers it.
func (ln *lane) grants() bool {
	return ln.open && slices.ContainsFunc(ln.batch.Items, func(it Item) bool { return it.Op.grants() })
}

// drop forgets the batch.
func (f *Fleet) drop(ln *lane) {
	limits := *f.table.limits.Load()
	for j, i := range ln.index {
		f.table.locked(i, func(e *entry, s *side) { s.flying = s.flying && !ln.carries(j, e, limits) })
	}
	ln.index, ln.open = ln.index[:0], false
}

// probe makes a batch that asks whether the store is back.
func (f *Fleet) probe(ln *lane, now int64) {
	if !f.build(ln, now, maxProbe) {
		ln.start(now, f.cfg.decay()) // of no key at all
	}
	ln.more = false
}

// recover ends the outage of a shard. The keys come back one after the other,
// so that not the whole fleet comes at once.
func (f *Fleet) recover(ln *lane, now int64) {
	f.stats.down += now - (f.downAt[ln.id].Load() - 1)
	f.log.Info("fleet: shard is back", "shard", ln.id, "down_for", now-(f.downAt[ln.id].Load()-1))
	f.downAt[ln.id].Store(0)
	ln.since, ln.shut = now, ln.shut[:0]
	spread := min(recoverHold, int64(f.instances()*1e7))
	ln.resume = now + f.rand.Int64N(spread+1)
	f.eachOf(ln, func(l *limit, e *entry, s *side) { l.comeBack(e, s) })
}

// eachOf calls do for every entry of the lane, under its region's lock.
func (f *Fleet) eachOf(ln *lane, do func(*limit, *entry, *side)) {
	limits := *f.table.limits.Load()
	for i := range f.table.Entries {
		e := &f.table.Entries[i]
		if e.Limit.Load() == 0 {
			continue
		}
		f.table.locked(uint32(i), func(e *entry, s *side) {
			if int(s.lane) == ln.id && e.Limit.Load() != 0 {
				do(limits[e.Limit.Load()], e, s)
			}
		})
	}
}
