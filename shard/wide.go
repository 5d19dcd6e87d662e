package shard

import (
	"sync/atomic"
	"unsafe"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/key"
)

// Entry is the state of one key of a synced limit: a cache line, without pointers.
// What a decision touches is here.
//
// A reader knows that a word is its key's when it finds the key between two loads
// of a word of one version; whoever writes the word keeps its version, which
// changes at every birth, so that nobody writes another key's.
type Entry struct {
	Word atomic.Uint64 // version 8 | payload 56, by the limit's kind
	// Inc is, for a shared bucket, units charged per token, more than a full bucket
	// where it is closed; else whoever syncs the limit says.
	Inc    atomic.Uint64
	Cum    atomic.Uint64 // version 8 | tokens admitted 56; only grows, but for undo
	H, P   atomic.Uint64
	When   atomic.Int64  // of whoever syncs the limit
	Denied atomic.Uint32 // tokens refused; only grows
	Link   atomic.Uint32 // 0: nothing to tell the fleet
	Limit  atomic.Uint32 // 0: free
	Cost   atomic.Uint32 // of a late request
}

// Key returns whose the entry is.
func (e *Entry) Key() key.Key { return key.Key{H: e.H.Load(), P: e.P.Load()} }

// Is reports whether the entry is the key's.
func (e *Entry) Is(k key.Key, limit uint32) bool {
	return e.H.Load() == k.H && e.P.Load() == k.P && e.Limit.Load() == limit
}

// Look returns the word for who goes on to change it by compare-and-swap, which fails
// if the entry has become another's since it was the key's.
func (e *Entry) Look(k key.Key, limit uint32) (w uint64, ok bool) {
	w = e.Word.Load()
	return w, e.Is(k, limit) && !bucket.IsFrozen(w)
}

// Read returns the word, if it is the key's.
func (e *Entry) Read(k key.Key, limit uint32) (w uint64, ok bool) {
	w, ok = e.Look(k, limit)
	// The key between two loads of the word with one version: in between, the
	// entry has not been another's. If it has, or is being born, it is for the
	// way under the lock to find out.
	return w, ok && (e.Word.Load()^w)>>56 == 0
}

// Spent counts tokens that were admitted with a word of the given life. A slot
// that has another key by now gets them and loses them again at once.
func (e *Entry) Spent(life uint64, cost int64) {
	if c := e.Cum.Add(uint64(cost)); (c^life)>>56 != 0 {
		e.Cum.Add(-uint64(cost))
	}
}

// Wide is where synced keys live: more of each than a word. Looking up is lock-free;
// whoever syncs the limits makes the entries.
type Wide struct {
	Entries []Entry
	mask    uint64 // slots of a region, less 1
	all     uint64 // slots of all regions
}

// Window is how many slots of a Wide a key is looked for in.
const Window = 32

// NewWide returns a table of so many slots in so many regions, both powers of two,
// and behind them some spare ones in which nothing is looked for.
func NewWide(slots, regions, spare int) Wide {
	return Wide{Entries: make([]Entry, slots+spare), mask: uint64(slots/regions - 1), all: uint64(slots)}
}

// Salt parts the limits of one key; it is to be XORed with the key's H.
func Salt(limit uint32) uint64 { return uint64(limit) * 0x9e3779b97f4a7c15 }

// Place returns where the search for a key begins, by its H (a keyed hash) and the
// limit's salt.
func (t *Wide) Place(salted uint64) (home uint64) { return key.Line(salted, t.all) }

// Homes returns the entries in which the keys of one limit are looked for first, for a
// key.Hasher.
func (t *Wide) Homes(limit uint32) key.Lines {
	return key.Lines{First: unsafe.Pointer(unsafe.SliceData(t.Entries)), N: t.all, Salt: Salt(limit)}
}

// Home returns the entry in which a key is looked for first.
func (t *Wide) Home(salted uint64) *Entry {
	// There are more entries than Place knows of: no need to check it.
	return (*Entry)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(t.Entries)), t.Place(salted)*uint64(unsafe.Sizeof(Entry{}))))
}

// Seek is Find that returns the entry.
func (t *Wide) Seek(k key.Key, limit uint32) (e *Entry, w uint64, ok bool) {
	i, w, ok := t.Find(k, limit)
	return &t.Entries[i], w, ok
}

// Index returns the number of an entry of this table.
func (t *Wide) Index(e *Entry) uint32 {
	return uint32((uintptr(unsafe.Pointer(e)) - uintptr(unsafe.Pointer(&t.Entries[0]))) / unsafe.Sizeof(Entry{}))
}

// Slot is the n-th slot of the search, which stays in its region.
func (t *Wide) Slot(home, n uint64) uint32 { return uint32(home&^t.mask | (home+n)&t.mask) }

// Region is the region of a slot; that of the spare ones is past the last.
func (t *Wide) Region(slot uint64) uint64 { return slot / (t.mask + 1) }

// Find returns the key's entry and its word.
func (t *Wide) Find(k key.Key, limit uint32) (i uint32, w uint64, ok bool) {
	home := t.Place(k.H ^ Salt(limit))
	for n := range uint64(Window) {
		i = t.Slot(home, n)
		e := &t.Entries[i]
		if e.H.Load() != k.H {
			continue
		}
		if w, ok = e.Read(k, limit); ok {
			return i, w, true
		}
	}
	return 0, 0, false
}
