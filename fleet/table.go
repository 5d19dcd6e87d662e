package fleet

import (
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/key"
	"github.com/weir-go/weir/shard"
)

// entry is the state of one synced key. Its Inc is, for a shared bucket, units charged
// per token, or shut; for leases a state; for concurrency the places leased. Its When
// is, for a bucket, from when a refusal may hurry the exchange, 0: never exchanged;
// for concurrency the end of the lease. Its Link is 0, linkTaken or on the dirty stack.
// What only the exchange needs is in its side.
type entry = shard.Entry

const (
	entryBytes = 64
	window     = shard.Window
	linkEnd    = 1<<32 - 1 // of the dirty stack
	linkTaken  = 1<<32 - 2 // something to tell, and not on the stack any more
	countMask  = 1<<56 - 1 // of cum
	never      = 1<<63 - 1 // as a when
	fill       = 0.5       // of the slots; with a window of 32 then fewer than 1 key in 100,000 finds no room
	maxEntries = 1<<24 - 2 // so that an index and the life of an in-flight word share 64 bits
	spare      = 1 << 10   // slots for the overflow of limits
)

// side is what the exchange knows of an entry. It is guarded by the entry's
// region.
type side struct {
	ack  uint64  // of cum: acknowledged by the store
	sent uint64  // of cum: covered by the batch that is on its way
	x0   float64 // arrival, or units used, as of the last reply; None
	base float64 // the store's clock then
	per  float64 // us per token that x0 is in; quota: generation of the counter
	m    float64 // leases: arrival that the tokens in hand were laid upon

	demand   float64 // attempts remembered
	demandAt int64
	unit     float64 // mean cost of a request
	share    float64 // of the key's traffic, 0 to 1
	keep     float64 // least share while holdUntil lasts
	age      float64
	debt     float64 // tokens owed in the fleet as of the last reply
	over     float64 // leases: tokens spent without one
	outCum   uint64  // leases: cum when the lane went down
	outHand  int64   // leases: tokens in hand then

	holdUntil int64
	pushed    int64 // when the last batch with this key was made; 0: never
	replied   int64 // when the last reply came; 0: never
	attempt   int64 // when something was last asked for

	deniedAck uint32
	lane      uint16
	queued    bool // in the lane's queue
	flying    bool // in a batch that is on its way
	verdict   bool // the word holds a verdict until the next exchange, not a level
	contended bool // the fleet asks for more than there is
	out       bool // spent without the fleet since the lane went down
	listed    bool // the store may count places as this instance's, or wanted by it
	blind     bool // while holdUntil lasts: the store knows nothing of the rates
}

type region struct {
	mu sync.Mutex
	_  [entryBytes - 8]byte
}

// table is where the synced keys live: bounded, lock-free for known keys.
type table struct {
	shard.Wide
	sides   []side
	regions []region
	limits  atomic.Pointer[[]*limit]
	spares  int // overflow entries handed out, behind the regions
	used    atomic.Int64
}

func newTable(keys int) *table {
	slots := 1
	for slots < window || float64(slots)*fill < float64(keys) {
		slots *= 2
	}
	regions := max(1, min(64, slots/64))
	t := &table{
		Wide:    shard.NewWide(slots, regions, spare),
		sides:   make([]side, slots+spare),
		regions: make([]region, regions+1), // the last is that of the spares
	}
	t.limits.Store(&[]*limit{nil})
	return t
}

// enter makes an entry for the key, with the word that birth makes of the one
// before, under the region's lock. ok is false when there is no room. found
// says that somebody else was first.
func (t *table) enter(k key.Key, limit uint32, now int64, birth func(prev uint64) uint64) (i uint32, found, ok bool) {
	home := t.Place(k.H ^ shard.Salt(limit))
	mu := &t.regions[t.Region(home)].mu
	mu.Lock()
	defer mu.Unlock()
	if i, _, ok = t.Find(k, limit); ok {
		return i, true, true
	}
	limits := *t.limits.Load()
	for n := range 2 * uint64(window) { // in the second round, entries of limits that only watch
		i = t.Slot(home, n%window)
		e := &t.Entries[i]
		w := e.Word.Load()
		if n >= window && limits[limit].watching.Load() {
			return 0, false, false
		}
		if e.Limit.Load() != 0 && !t.droppable(i, w, now) && (n < window || !limits[e.Limit.Load()].watching.Load() || bucket.IsFrozen(w)) {
			continue
		}
		v := (w + bucket.VersionOne) &^ uint64(bucket.Payload)
		if !e.Word.CompareAndSwap(w, v|bucket.Frozen) {
			continue // charged meanwhile: it is in use
		}
		if e.Limit.Load() == 0 {
			t.used.Add(1)
		}
		t.settle(i, k, limit, v)
		e.Word.Store(v&^uint64(bucket.Payload) | birth(w&bucket.Payload|v)&bucket.Payload)
		return i, false, true
	}
	return 0, false, false
}

// settle makes an entry another key's, while its word is frozen.
func (t *table) settle(i uint32, k key.Key, limit uint32, v uint64) {
	e := &t.Entries[i]
	l := (*t.limits.Load())[limit]
	e.Limit.Store(limit)
	e.H.Store(k.H)
	e.P.Store(k.P)
	e.Cum.Store(v &^ uint64(bucket.Payload))
	e.When.Store(0)
	e.Inc.Store(l.first(l.laneOf(k)))
	// The link stays: whoever marks the entry late makes it dirty for its new key,
	// which costs a look, while a stack that lost its links would cost much more. So
	// does its place in a lane's queue; a lane that it is not of any more hands it on.
	t.sides[i] = side{lane: uint16(l.laneOf(k)), x0: None, deniedAck: e.Denied.Load(), unit: 1, queued: t.sides[i].queued}
}

// droppable reports whether an entry says no more than one never made. Its
// region is locked.
func (t *table) droppable(i uint32, w uint64, now int64) bool {
	e, s := &t.Entries[i], &t.sides[i]
	l := (*t.limits.Load())[e.Limit.Load()]
	return e.Link.Load() == 0 && !s.queued && !s.flying && !bucket.IsFrozen(w) &&
		(s.out || e.Cum.Load()&countMask == s.ack) && l.idle(w, now)
}

// overflow returns an entry of the limit's own for the keys that find no room.
func (t *table) overflow(l *limit) uint32 {
	if t.spares == spare {
		return l.spare // all out: limits that came and went share the last
	}
	i := uint32(len(t.Entries) - spare + t.spares)
	t.spares++
	e := &t.Entries[i]
	e.Word.Store(bucket.Frozen)
	t.settle(i, key.Key{}, l.id, 0)
	e.Word.Store(l.rule.Fresh(0, l.rule.At(0)))
	return i
}

// lock locks the region of an entry.
func (t *table) lock(i uint32) *sync.Mutex {
	r := int(t.Region(uint64(i)))
	mu := &t.regions[min(r, len(t.regions)-1)].mu
	mu.Lock()
	return mu
}

// locked runs do on an entry under its region's lock, which a fault of do does
// not leave locked: a request with a new key would wait for it.
func (t *table) locked(i uint32, do func(*entry, *side)) {
	mu := t.lock(i)
	defer mu.Unlock()
	do(&t.Entries[i], &t.sides[i])
}
