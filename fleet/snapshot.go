package fleet

import (
	"time"

	"github.com/weir-go/weir/engine"
)

// Snapshot implements engine.Syncer.
func (f *Fleet) Snapshot() engine.FleetSnapshot {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := engine.FleetSnapshot{
		On: true, SyncAge: -1, Shards: len(f.lanes), Keys: int(f.table.used.Load()),
		Acked: f.stats.acked, Resent: f.stats.resent, Duplicates: f.stats.duplicates, Lost: f.stats.lost,
		Deferred: f.stats.deferred, Errors: f.stats.failed, Restarts: f.stats.restarts,
		DownTime: time.Duration(f.stats.down),
	}
	if f.host == nil {
		return s
	}
	now := f.host.Now()
	lanes := 0
	for _, ln := range f.lanes {
		if f.down(ln.id) {
			s.Down++
			s.DownTime += time.Duration(now - (f.downAt[ln.id].Load() - 1))
		}
		if ln.acked >= 0 {
			// A shard without traffic has nothing to be late with.
			if ln.open || f.down(ln.id) || len(ln.queue) > 0 {
				s.SyncAge = max(s.SyncAge, time.Duration(now-ln.acked))
			}
			s.SyncAge = max(s.SyncAge, 0)
		}
		if len(ln.index) > 0 && ln.acked >= 0 {
			lanes++
			s.Share += ln.share
			s.Debt += ln.debt
		}
		for _, i := range ln.queue {
			mu := f.table.lock(i)
			n, _ := f.table.sides[i].untold(&f.table.Entries[i])
			mu.Unlock()
			s.Pending += max(0, n)
		}
	}
	s.Share /= float64(max(1, lanes))
	g := &f.ledger
	s.Quota, s.Base, s.LeaseValid = g.quota, g.base, g.heard != 0 && now <= g.until
	if r := g.reply; g.heard != 0 {
		s.Instances, s.Capacity = int(r.Instances), r.Capacity
		s.Critical, s.Other = int(r.Critical), int(r.Other)
		s.Excess = max(0, int(r.Other-(1-g.beat.Reserve)*r.Capacity))
	}
	return s
}
