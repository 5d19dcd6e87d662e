package engine

import "sync/atomic"

// record is what a ticket holds that holds more than one thing, or is watched for
// leaks. It is the ticket's from Admit to Done, and then somebody else's.
type record struct {
	holds [maxHolds]hold
	n     uint8
	cell  uint8  // of the sample of open tickets, plus one
	id    uint32 // number

	// life is how many tickets are done with it. A ticket is let in while that is what
	// it was: so a copy of a ticket, once one of them is done, is not.
	life atomic.Uint64
	next atomic.Uint64 // of the idle ones of a lane, the one below: its number plus one
}

// chunk is how many records are made at a time.
const chunk = 8

// record returns the one with the number.
func (e *Engine) record(id uint32) *record {
	return &(*e.records.Load())[id/chunk][id%chunk]
}

// takeRecord takes a record that is idle in the lane, or a new one: of each lane there
// are as many as its tickets with a record were ever open at once. A lane's idle ones
// are a stack (Treiber, 1986) whose head counts how often one was left, so that whoever
// was away for long notices.
func (e *Engine) takeRecord(l *lane) *record {
	for {
		head := l.idle.Load()
		if uint32(head) == 0 {
			return e.moreRecords(l)
		}
		r := e.record(uint32(head) - 1)
		if l.idle.CompareAndSwap(head, head>>32<<32|r.next.Load()) {
			return r
		}
	}
}

// leaveRecord makes idle a record that was taken in the lane.
func (e *Engine) leaveRecord(l *lane, r *record) {
	for {
		head := l.idle.Load()
		r.next.Store(uint64(uint32(head)))
		if l.idle.CompareAndSwap(head, (head>>32+1)<<32|uint64(r.id+1)) {
			return
		}
	}
}

// moreRecords makes records for the lane, and takes one.
func (e *Engine) moreRecords(l *lane) *record {
	made := new([chunk]record)
	e.growing.Lock()
	var all []*[chunk]record
	if p := e.records.Load(); p != nil {
		all = *p
	}
	for i := range made {
		made[i].id = uint32(len(all)*chunk + i)
	}
	all = append(all, made) // in place, it may be: readers of the shorter slice do not see it
	e.records.Store(&all)
	e.growing.Unlock()
	for i := range made[1:] {
		e.leaveRecord(l, &made[i+1])
	}
	return &made[0]
}
