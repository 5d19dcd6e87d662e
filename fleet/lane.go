package fleet

import (
	"cmp"
	"slices"

	"github.com/weir-go/weir/engine"
)

// lane is the way to one shard of the store: a queue of keys, at most one batch
// on its way, and a circuit of its own, so that a dead server stops no shard
// but its own.
type lane struct {
	id    int
	seq   uint64
	queue []uint32 // entries that have, or may soon have, something to tell

	batch  *Batch
	index  []uint32 // the entries of its items
	made   int64    // when it was made
	sent   int64    // when it was last sent
	flying bool
	frozen bool // its reply did not come: it goes out again as it is
	more   bool // there was more to tell than fitted

	failing int64 // since when nothing has been acknowledged; 0: all is well
	backoff int64
	retry   int64   // while down: when to try next
	shut    []int64 // while down: when limits that fail closed do so
	since   int64   // when the recovery began; 0: none
	resume  int64   // when recovering keys are sent again
	acked   int64   // when the last reply came; -1: never
	rtt     float64
	share   float64 // of the keys of the last batch, mean
	debt    float64 // of the keys of the last batch, sum
	why     error
}

// dueKey is a key that wants to be sent, and how much.
type dueKey struct {
	i     uint32
	class int // lower goes first
	size  float64
}

// The classes of due keys.
const (
	urgent = iota // refused something, or never exchanged
	asking        // contended: it lives on the fleet's verdicts
	heavy         // has spent much
	old           // has spent little, long ago
)

// build makes the lane's next batch of at most n keys; false: nothing is due.
func (f *Fleet) build(ln *lane, now int64, n int) bool {
	limits := *f.table.limits.Load()
	var due []dueKey
	kept := ln.queue[:0]
	for _, i := range ln.queue {
		mu := f.table.lock(i)
		e, s := &f.table.entries[i], &f.table.sides[i]
		l := limits[e.limit.Load()]
		d, wanted, stay := l.due(e, s, now)
		if d.i = i; wanted && ln.since != 0 && s.out && now < ln.resume {
			wanted = false
		}
		if stay {
			kept = append(kept, i)
		} else {
			s.queued = false
		}
		mu.Unlock()
		if wanted {
			due = append(due, d)
		}
	}
	ln.queue = kept
	ln.more = len(due) > n
	if ln.more {
		slices.SortFunc(due, func(a, b dueKey) int {
			return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(b.size, a.size))
		})
		f.stats.deferred += uint64(len(due) - n)
		due = due[:n]
	}
	if len(due) == 0 {
		return false
	}
	ln.start(now, f.cfg.decay())
	for _, d := range due {
		f.add(ln, limits, d.i, now)
	}
	return true
}

// start begins a new batch.
func (ln *lane) start(now int64, decay float64) {
	if ln.batch == nil {
		ln.batch = new(Batch)
	}
	ln.seq++
	*ln.batch = Batch{Shard: ln.id, Seq: ln.seq, Decay: decay, Items: ln.batch.Items[:0], Answers: ln.batch.Answers[:0]}
	ln.index = ln.index[:0]
	ln.made = now
}

func (f *Fleet) add(ln *lane, limits []*limit, i uint32, now int64) {
	mu := f.table.lock(i)
	defer mu.Unlock()
	e, s := &f.table.entries[i], &f.table.sides[i]
	l := limits[e.limit.Load()]
	it := Item{Limit: l.cfg.Name, Key: e.key()}
	// From here on whoever spends marks the entry anew.
	e.link.Store(0)
	s.flying = true
	switch {
	case l.leased():
		l.askLease(&it, e, s, now, f.closed)
	case l.cfg.Kind == engine.InFlight:
		l.askHold(&it, e, s, now)
	default:
		l.askShare(&it, e, s, now, f.late(ln, now, l))
	}
	s.pushed = now
	ln.batch.Items = append(ln.batch.Items, it)
	ln.index = append(ln.index, i)
}

// late is by how much, in us, what an instance knows of the others lags behind:
// the worst age of a reply in normal operation, or the age of the trouble.
func (f *Fleet) late(ln *lane, now int64, l *limit) float64 {
	if ln.failing != 0 {
		return float64(min(now-ln.failing, 2e9)) / 1e3
	}
	return (1.1*float64(l.period) + ln.rtt) / 1e3
}

// answered takes a batch's reply.
func (f *Fleet) answered(ln *lane, now int64) {
	b := ln.batch
	rtt := float64(now - ln.sent)
	if ln.rtt == 0 {
		ln.rtt = rtt
	}
	ln.rtt += (rtt - ln.rtt) / 8
	ln.flying, ln.frozen, ln.failing, ln.why = false, false, 0, nil
	ln.acked = now
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
		mu := f.table.lock(i)
		e, s := &f.table.entries[i], &f.table.sides[i]
		s.flying = false
		s.ack = s.sent
		l, it := limits[e.limit.Load()], &b.Items[j]
		switch it.Op {
		case OpLease, OpQuota:
			l.gotLease(it, b.Answers[j], e, s, now)
		case OpHold:
			l.gotHold(it, b.Answers[j], e, s, ln.sent)
		default:
			l.gotShare(it, b.Answers[j], e, s, b.Now, ln.sent, now)
		}
		s.replied, s.base = now, b.Now
		ln.debt += s.debt
		ln.share += s.share / float64(len(ln.index))
		mu.Unlock()
	}
}

// failed takes a batch's error: the batch stays as it is, and goes out again
// under the same number.
func (f *Fleet) failed(ln *lane, now int64) {
	f.stats.failed++
	ln.flying, ln.frozen = false, true
	if ln.failing == 0 {
		ln.failing = ln.sent
		f.log.Warn("fleet: a shard does not answer; its keys go on with their last share", "shard", ln.id, "error", ln.batch.Err)
	}
	ln.why = ln.batch.Err
	if f.down(ln.id) {
		ln.backoff = min(2*ln.backoff, maxBackoff)
		ln.retry = now + f.jitter(ln.backoff)
		if !ln.grants() {
			f.drop(ln) // by the next try it would not be true any more
		}
	} else if now-ln.failing >= f.cfg.patience() {
		f.cut(ln, now)
	}
}

// jitter is between half of d and d.
func (f *Fleet) jitter(d int64) int64 { return d/2 + f.rand.Int64N(d/2+1) }

// again makes the frozen batch ready to be sent again.
func (f *Fleet) again(ln *lane, now int64) {
	f.stats.resent++
	waited := float64(now-ln.sent) / 1e3
	for j := range ln.batch.Items {
		if it := &ln.batch.Items[j]; it.Op == OpRate {
			it.Arg[RateU] -= waited // refilled meanwhile
		}
	}
}

// cut declares the shard down: its keys are spent without the fleet.
func (f *Fleet) cut(ln *lane, now int64) {
	f.downAt[ln.id].Store(now + 1)
	ln.backoff = minBackoff
	ln.retry = now + f.jitter(ln.backoff)
	ln.since = 0
	f.log.Warn("fleet: shard is cut off; its limits go on by on_stale", "shard", ln.id, "error", ln.why)
	if !ln.grants() {
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
	return slices.ContainsFunc(ln.batch.Items, func(it Item) bool { return it.Op.Grants() })
}

// drop forgets the batch.
func (f *Fleet) drop(ln *lane) {
	for _, i := range ln.index {
		mu := f.table.lock(i)
		f.table.sides[i].flying = false
		mu.Unlock()
	}
	ln.index, ln.frozen = ln.index[:0], false
}

// probe makes a batch that asks whether the store is back.
func (f *Fleet) probe(ln *lane, now int64) {
	f.build(ln, now, maxProbe)
	ln.more = false
	if len(ln.index) == 0 {
		ln.start(now, f.cfg.decay()) // of no key at all
	}
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
	for i := range f.table.entries {
		e := &f.table.entries[i]
		if e.limit.Load() == 0 {
			continue
		}
		mu := f.table.lock(uint32(i))
		if s := &f.table.sides[i]; int(s.lane) == ln.id && e.limit.Load() != 0 {
			do(limits[e.limit.Load()], e, s)
		}
		mu.Unlock()
	}
}
