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

	batch *Batch
	index []uint32 // the entries of its items
	made  int64    // when it was made
	sent  int64    // when it was last sent
	open  bool     // it has no reply yet: it goes out again as it is
	tries int      // calls with it that are on their way
	more  bool     // there was more to tell than fitted

	failing int64 // since when nothing has been acknowledged; 0: all is well
	backoff int64
	retry   int64   // while down: when to try next
	shut    []int64 // while down: when limits that fail closed do so
	since   int64   // when the recovery began; 0: none
	resume  int64   // when recovering keys are sent again
	acked   int64   // when the last reply came; -1: never
	told    uint64  // the number of the batch that it was for
	learns  int64   // until when places are told, but no more are taken
	rtt     float64 // ns
	wait    int64   // ns until a reply counts as missing
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
	due := f.due[:0]
	kept := ln.queue[:0]
	for _, i := range ln.queue {
		f.table.locked(i, func(e *entry, s *side) {
			if f.handOn(ln, i, s) {
				return
			}
			d, wanted, stay := limits[e.Limit.Load()].due(e, s, now)
			if d.i = i; wanted && !(ln.since != 0 && s.out && now < ln.resume) {
				due = append(due, d)
			}
			if s.queued = stay; stay {
				kept = append(kept, i)
			}
		})
	}
	ln.queue, f.due = kept, due
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

// handOn puts an entry that has become a key of another lane into that one's
// queue. The entry's region is locked.
func (f *Fleet) handOn(ln *lane, i uint32, s *side) bool {
	if int(s.lane) == ln.id {
		return false
	}
	to := f.lanes[s.lane]
	to.queue = append(to.queue, i)
	return true
}

// carries reports whether the j-th item of the lane's batch is still that of the
// entry, which may have become another key's while it was on its way.
func (ln *lane) carries(j int, e *entry, limits []*limit) bool {
	it := &ln.batch.Items[j]
	l := limits[e.Limit.Load()]
	return l != nil && e.Key() == it.Key && l.cfg.Name == it.Limit && l.op() == it.Op
}

// start begins a new batch. A call with the last one may still be on its way;
// then that one's memory is left to it.
func (ln *lane) start(now int64, decay float64) {
	if ln.batch == nil || ln.tries > 0 {
		ln.batch = new(Batch)
	}
	ln.seq++
	*ln.batch = Batch{Shard: ln.id, Seq: ln.seq, Decay: decay, Items: ln.batch.Items[:0], Answers: ln.batch.Answers[:0]}
	ln.index = ln.index[:0]
	ln.made, ln.open, ln.tries = now, true, 0
}

func (f *Fleet) add(ln *lane, limits []*limit, i uint32, now int64) {
	mu := f.table.lock(i)
	defer mu.Unlock()
	e, s := &f.table.Entries[i], &f.table.sides[i]
	l := limits[e.Limit.Load()]
	it := Item{Op: l.op(), Limit: l.cfg.Name, Key: e.Key()}
	unmark(e)
	s.flying = true
	switch {
	case l.leased():
		l.askLease(&it, e, s, now, f.closed)
	case l.cfg.Kind == engine.InFlight:
		l.askHold(&it, e, s, now, ln, f.closed)
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
