package fleet

import "github.com/weir-go/weir/bucket"

// The exchange of places in flight. The entry's region is locked.

// keptFor is how long, in ns, the store keeps the places of an instance that
// says nothing more. What is strict must not be leased to others while who is
// cut off may still use it; elsewhere it is better had back soon.
func (l *limit) keptFor() int64 {
	if l.strict() {
		return max(int64(l.f.cfg.Reservation.Grace), 2*l.f.cfg.patience())
	}
	return int64(l.f.cfg.ttl())
}

// keepsFor is how long, in ns, an instance keeps a place of a strict limit that it
// does not use: until whom it has refused was told to come again, and once more.
func (l *limit) keepsFor() int64 { return 2 * max(2e9, int64(hold{l}.retry())) }

// askHold says how many are in flight here, how many may be, and how many
// would like to be.
func (l *limit) askHold(it *Item, e *entry, s *side, now int64, ln *lane, ending bool) {
	spent, attempts := l.remember(e, s, now)
	used := float64(bucket.InUse(e.Word.Load()))
	most := float64(l.rule.Max())
	want := min(most, used+max(0, attempts-spent))
	if used == 0 && l.strict() && now-s.attempt < l.keepsFor() {
		// Whoever was refused comes again, and would be refused again: nothing but
		// what is leased serves the first request.
		want = max(want, min(most, float64(max(1, e.Cost.Load()))))
	}
	held := 0.0
	if e.When.Load() != 0 {
		// Also when it has run out: it is a part of it that it lives on then.
		held = float64(e.Inc.Load())
	}
	if want == 0 || ending {
		// It lives on its own part again. A decision may be under way that has seen
		// the lease, so that only the next report gives it back.
		e.When.Store(0)
		if ending {
			want, held = used, 0
		}
		most = max(used, held)
	}
	s.listed = true
	if l.f.learning(ln, now) {
		most = min(most, max(used, held, float64(l.part())))
	}
	it.Arg = [Args]float64{HoldUsed: used, HoldHeld: held, HoldWant: want, HoldMax: float64(l.rule.Max()),
		HoldTTL: float64(l.keptFor()) / 1e3, HoldMost: most}
}

func (l *limit) gotHold(it *Item, ans Answer, e *entry, s *side, now int64, ln *lane) {
	if it.Arg[HoldWant] == 0 {
		s.listed = it.Arg[HoldHeld] > 0
		return
	}
	got := max(0, ans[0])
	if l.f.learning(ln, now) { // since this very reply, it may be
		got = min(got, max(it.Arg[HoldUsed], it.Arg[HoldHeld], float64(l.part())))
	}
	e.Inc.Store(uint64(got))
	// From when it was sent, and by less than the store waits: the instance has
	// stopped using a lease well before anybody else may have it.
	e.When.Store(ln.made + int64(l.f.cfg.ttl())*3/4)
	s.share = got / float64(l.rule.Max())
}

// learn is called when the store may have forgotten who holds the places of a
// shard. Until every instance has told it anew, none takes more than it has:
// whoever came back first would be leased what the others use.
func (f *Fleet) learn(ln *lane, now int64) {
	ln.learns = now + 2*maxBackoff + int64(deadlineOut) + 5*int64(f.cfg.Period)
}

func (f *Fleet) learning(ln *lane, now int64) bool {
	return now < ln.learns || f.down(ln.id) || f.unheard(ln, now)
}

// unheard reports whether the store has been away, by the instance's reports,
// and the shard not been used since: that it is back says nothing of what it
// remembers.
func (f *Fleet) unheard(ln *lane, now int64) bool {
	since := f.ledger.failing
	return f.ledger.silentFor(f, now) && ln.acked < since+f.cfg.patience()
}

// forgot reports whether the store does not know the instance's last batch for
// the shard any more: it has been emptied, or is a replica that lags behind.
func (ln *lane) forgot(b *Batch, now int64) bool {
	return b.Prev < ln.told && now-ln.acked < SeqTTL*1e3
}

// relearn is called when a report is answered. lost: the store has lost the group,
// so that what an instance has not used for long may be lost as well; otherwise
// a shard tells by itself.
func (f *Fleet) relearn(now int64, lost bool) {
	for _, ln := range f.lanes {
		if f.unheard(ln, now) || lost && now-ln.acked >= SeqTTL*1e3 {
			f.learn(ln, now)
		}
	}
}
