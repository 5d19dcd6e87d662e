package fleet

import (
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/key"
)

// entry is the state of one synced key: a cache line, without pointers. What a
// decision touches is here; what only the exchange needs is in its side.
//
// A reader knows that a word is its key's when it finds the key between two
// loads of a word of one version; whoever writes the word keeps its version, which
// changes at every birth, so that nobody writes another key's.
type entry struct {
	word atomic.Uint64 // version 8 | payload 56, by the limit's kind
	// inc is, for a shared bucket, units charged per token, or shut; for leases
	// a state; for concurrency the places leased.
	inc    atomic.Uint64
	cum    atomic.Uint64 // version 8 | tokens admitted 56; only grows, but for undo
	h, p   atomic.Uint64
	when   atomic.Int64  // bucket: from when a refusal may hurry the exchange, 0: never exchanged; concurrency: end of the lease
	denied atomic.Uint32 // tokens refused; only grows
	link   atomic.Uint32 // 0: nothing to tell the fleet; linkTaken; else on the dirty stack
	limit  atomic.Uint32 // 0: free
	cost   atomic.Uint32 // of the last request
}

const (
	entryBytes = 64
	window     = 32        // slots in which a key is looked for
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
	entries []entry
	sides   []side
	regions []region
	mask    uint64 // slots of a region, less 1
	all     uint64 // slots of all regions, less 1
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
		entries: make([]entry, slots+spare),
		sides:   make([]side, slots+spare),
		regions: make([]region, regions+1), // the last is that of the spares
		mask:    uint64(slots/regions - 1),
		all:     uint64(slots - 1),
	}
	t.limits.Store(&[]*limit{nil})
	return t
}

// place returns where the search for a key begins.
func (t *table) place(k key.Key, limit uint32) (home uint64) {
	// H is a keyed hash; what is multiplied only parts the limits of one key.
	x := k.H ^ uint64(limit)*0x9e3779b97f4a7c15
	return (x ^ x>>29) & t.all
}

// slot is the n-th slot of the search, which stays in its region.
func (t *table) slot(home, n uint64) uint32 { return uint32(home&^t.mask | (home+n)&t.mask) }

func (e *entry) is(k key.Key, limit uint32) bool {
	return e.h.Load() == k.H && e.p.Load() == k.P && e.limit.Load() == limit
}

func frozen(w uint64) bool { return w&bucket.Payload == bucket.Frozen }

// find returns the key's entry and its word.
func (t *table) find(k key.Key, limit uint32) (i uint32, w uint64, ok bool) {
	home := t.place(k, limit)
	for n := range uint64(window) {
		i = t.slot(home, n)
		e := &t.entries[i]
		if e.h.Load() != k.H {
			continue
		}
		if w, ok = e.read(k, limit); ok {
			return i, w, true
		}
	}
	return 0, 0, false
}

// read returns the word, if it is the key's.
func (e *entry) read(k key.Key, limit uint32) (w uint64, ok bool) {
	w = e.word.Load()
	// The key between two loads of the word with one version: in between, the
	// entry has not been another's. If it has, or is being born, it is for the
	// way under the lock to find out.
	if e.is(k, limit) && (e.word.Load()^w)>>56 == 0 && !frozen(w) {
		return w, true
	}
	return 0, false
}

// enter makes an entry for the key, with the word that birth makes of the one
// before, under the region's lock. ok is false when there is no room. found
// says that somebody else was first.
func (t *table) enter(k key.Key, limit uint32, now int64, birth func(prev uint64) uint64) (i uint32, found, ok bool) {
	home := t.place(k, limit)
	mu := &t.regions[home/(t.mask+1)].mu
	mu.Lock()
	defer mu.Unlock()
	if i, _, ok = t.find(k, limit); ok {
		return i, true, true
	}
	limits := *t.limits.Load()
	for n := range 2 * uint64(window) { // in the second round, entries of limits that only watch
		i = t.slot(home, n%window)
		e := &t.entries[i]
		w := e.word.Load()
		if n >= window && limits[limit].watching.Load() {
			return 0, false, false
		}
		if e.limit.Load() != 0 && !t.droppable(i, w, now) && (n < window || !limits[e.limit.Load()].watching.Load() || frozen(w)) {
			continue
		}
		v := (w + bucket.VersionOne) &^ uint64(bucket.Payload)
		if !e.word.CompareAndSwap(w, v|bucket.Frozen) {
			continue // charged meanwhile: it is in use
		}
		if e.limit.Load() == 0 {
			t.used.Add(1)
		}
		t.settle(i, k, limit, v)
		e.word.Store(v&^uint64(bucket.Payload) | birth(w&bucket.Payload|v)&bucket.Payload)
		return i, false, true
	}
	return 0, false, false
}

// settle makes an entry another key's, while its word is frozen.
func (t *table) settle(i uint32, k key.Key, limit uint32, v uint64) {
	e := &t.entries[i]
	l := (*t.limits.Load())[limit]
	e.limit.Store(limit)
	e.h.Store(k.H)
	e.p.Store(k.P)
	e.cum.Store(v &^ uint64(bucket.Payload))
	e.when.Store(0)
	e.inc.Store(l.first(l.laneOf(k)))
	// The link stays: whoever marks the entry late makes it dirty for its new key,
	// which costs a look, while a stack that lost its links would cost much more. So
	// does its place in a lane's queue; a lane that it is not of any more hands it on.
	t.sides[i] = side{lane: uint16(l.laneOf(k)), x0: None, deniedAck: e.denied.Load(), unit: 1, queued: t.sides[i].queued}
}

// droppable reports whether an entry says no more than one never made. Its
// region is locked.
func (t *table) droppable(i uint32, w uint64, now int64) bool {
	e, s := &t.entries[i], &t.sides[i]
	l := (*t.limits.Load())[e.limit.Load()]
	return e.link.Load() == 0 && !s.queued && !s.flying && !frozen(w) &&
		(s.out || e.cum.Load()&countMask == s.ack) && l.idle(w, now)
}

// overflow returns an entry of the limit's own for the keys that find no room.
func (t *table) overflow(l *limit) uint32 {
	if t.spares == spare {
		return l.spare // all out: limits that came and went share the last
	}
	i := uint32(len(t.entries) - spare + t.spares)
	t.spares++
	e := &t.entries[i]
	e.word.Store(bucket.Frozen)
	t.settle(i, key.Key{}, l.id, 0)
	e.word.Store(l.rule.Fresh(0, l.rule.At(0)))
	return i
}

// lock locks the region of an entry.
func (t *table) lock(i uint32) *sync.Mutex {
	r := int(uint64(i) / (t.mask + 1))
	mu := &t.regions[min(r, len(t.regions)-1)].mu
	mu.Lock()
	return mu
}

// locked runs do on an entry under its region's lock, which a fault of do does
// not leave locked: a request with a new key would wait for it.
func (t *table) locked(i uint32, do func(*entry, *side)) {
	mu := t.lock(i)
	defer mu.Unlock()
	do(&t.entries[i], &t.sides[i])
}
