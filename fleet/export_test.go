package fleet

import (
	"math/rand/v2"
	"time"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/key"
)

// What a simulation needs to run a Fleet on its own time: without the loop.

// Call is an exchange on its way.
type Call = call

// Manual starts f on the host's time with a given source of chance.
func (f *Fleet) Manual(host engine.SyncHost, seed uint64) {
	f.rand = rand.New(rand.NewPCG(seed, 1))
	f.newBoot()
	f.host, f.log = host, host.Logger()
	f.ledger.begin(f, host.GateUse())
}

// Step makes what is to be sent now.
func (f *Fleet) Step(now int64, regular bool) []*Call {
	return f.locked2(func() []*call { return f.step(now, regular) })
}

// Done takes what came of a call.
func (f *Fleet) Done(c *Call, now int64) (more bool) {
	return f.locked(func() bool { return f.done(c, now) })
}

// Hurried reports whether an exchange was asked for out of turn.
func (f *Fleet) Hurried() bool {
	select {
	case <-f.wake:
		return true
	case <-f.ledger.wake:
		f.ledger.refused = true
		return true
	default:
		return false
	}
}

// Pause is the time to the next tick.
func (f *Fleet) Pause() time.Duration { return f.pause() }

func (f *Fleet) locked2(do func() []*call) []*call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return do()
}

func (c *Call) Parts() (Boot, []*Batch, *Beat, time.Duration) {
	return c.boot, c.batches, c.beat, c.within()
}

// Answer sets the reply to a call's beat.
func (c *Call) Answer(r BeatReply, err error) { c.reply, c.err = r, err }

// BootOf returns the instance's name.
func (f *Fleet) BootOf() Boot { return f.boot }

// Farewell is what Close sends.
func (f *Fleet) Farewell() (calls []*Call) {
	f.closed = true
	for c := f.goodbye(); len(c.lanes) > 0; c = f.goodbye() {
		calls = append(calls, c)
	}
	return calls
}

// Watchdog starts what looks after a loop, which there is none of.
func (f *Fleet) Watchdog() (stop func()) {
	f.loop.stop = make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.watch()
	}()
	return func() { close(f.loop.stop); <-ended }
}

// Deref returns whose entry a handle names.
func (f *Fleet) Deref(id uint64) (k key.Key, limit uint32, ok bool) {
	e, _, ok := f.table.deref(id)
	if !ok {
		return k, 0, false
	}
	return e.Key(), e.Limit.Load(), true
}

// Entry is the state of a key.
type Entry = entry

// Spent is how many tokens all entries have counted.
func (f *Fleet) Spent() (n uint64) {
	for i := range f.table.Entries {
		n += f.table.Entries[i].Cum.Load() & countMask
	}
	return n
}

// Marked is how many entries have something to tell.
func (f *Fleet) Marked() (n int) {
	for i := range f.table.Entries {
		if f.table.Entries[i].Link.Load() != 0 {
			n++
		}
	}
	return n
}

// Tell takes note of what all entries have to tell, as an exchange does.
func (f *Fleet) Tell() {
	for i := range f.table.Entries {
		e := &f.table.Entries[i]
		if e.Link.Load() != 0 {
			e.Link.Store(linkTaken)
			unmark(e)
		}
	}
	f.dirty.Store(0)
}
