package shard

import (
	"github.com/weir-go/weir/bucket"
)

// Claim is one charge on the table, from the look at the word to what undoes
// it. The zero value with the first four fields set is ready for Look.
type Claim struct {
	H    uint64
	Cost int64 // 1 to Rule.Max()
	Rule *bucket.Rule
	ID   uint8
	// BucketID is the table id of the bucket that a hold stands beside.
	BucketID uint8
	// Overflowed is set when the key had no room and Take used a shared word.
	Overflowed bool

	Slot uint32
	// Word is what Look saw; after a charge, what the charge left.
	Word uint64
	// At is the instant that Look decided at, on the rule's clock.
	At   uint64
	next uint64
}

// Look reads the key's word and decides on it as of now, changing nothing. A
// key without a word is decided on as one never seen.
func (t *Table) Look(c *Claim, now int64) bool {
	r := c.Rule
	if r.Kind == bucket.Token {
		c.At = r.TokenAt(now)
	} else {
		c.At = r.At(now)
	}
	for {
		if c.Slot, c.Word = t.Find(c.H, c.ID); c.Slot == None {
			c.Word = r.Fresh(0, c.At)
		}
		if t.decide(c) {
			return true
		}
		if c.Slot == None || t.same(c.Slot, c.Word) {
			return false
		}
	}
}

// same reports whether the slot is still in the life that the word is of.
func (t *Table) same(slot uint32, word uint64) bool { return t.slot(slot).Still(word) }

func (t *Table) decide(c *Claim) (ok bool) {
	switch r := c.Rule; r.Kind {
	case bucket.Token:
		c.next, ok = r.TakeToken(c.Word, c.At, uint64(c.Cost))
	case bucket.Flight:
		c.next, ok = r.TakeFlight(c.Word, c.Cost)
	case bucket.Hold:
		c.next, ok = r.TakeHold(c.Word, t.Beside(c), c.At, c.Cost)
	default:
		c.next, ok = r.Take(c.Word, c.At, c.Cost)
	}
	return ok
}

// Beside loads the word of the bucket beside a hold. It must be loaded
// after the hold's: a settlement charges first and lets go then. A bucket that
// is nowhere owes nothing, unless what it owes went to a shared word.
func (t *Table) Beside(c *Claim) uint64 {
	for {
		s, w := t.Find(c.H, c.BucketID)
		if s == None {
			break
		}
		if t.same(s, w) {
			return w
		}
	}
	if t.ids.spills[c.BucketID].Load() {
		return t.slot(t.overflow(c.H, c.BucketID)).word.Load()
	}
	return c.At
}

// Commit makes the charge that Look found possible, if the word is still what
// Look saw. When it is not, or the key has no word yet, Take has to decide.
func (t *Table) Commit(c *Claim) bool {
	if c.Slot == None || !t.slot(c.Slot).word.CompareAndSwap(c.Word, c.next) {
		return false
	}
	c.Word = c.next
	return true
}

// Result is how a Take ended.
type Result uint8

// The results.
const (
	Taken   Result = iota
	Refused        // nothing was charged
	NoRoom         // a new key for which the table has no place; nothing was charged
)

// Take charges the claim, however the word changes meanwhile, or refuses. A
// refusal is decided on the true time and on a word loaded after it was read.
// With shared, a key that has no room is charged on the overflow word it shares.
func (t *Table) Take(c *Claim, now int64, shared bool) Result {
	for sure := false; ; {
		ok := t.Look(c, now)
		switch {
		case c.Slot == None:
			if r, done := t.first(c, shared); done {
				return r
			}
		case ok:
			if sure {
				t.clock.Publish(now)
			}
			if t.Commit(c) {
				return Taken
			}
		case sure:
			return Refused
		default:
			now, sure = t.clock.Now(), true
		}
	}
}

// first is the first sight of a key. done is false when the key turned out to
// be known.
func (t *Table) first(c *Claim, shared bool) (r Result, done bool) {
	shard, base, in := t.home(c.H)
	mu := &t.mus[shard]
	mu.Lock()
	defer mu.Unlock()
	tag := TagOf(c.H, c.ID)
	if s, _ := t.search(tag, base, in); s != None {
		return 0, false
	}
	// The time must be read under the mutex: with an earlier one the key could be
	// born before the moment at which its last word was found idle and dropped.
	now := t.clock.Now()
	c.At = c.Rule.At(now)
	c.Word = c.Rule.Fresh(0, c.At)
	if !t.decide(c) {
		return Refused, true
	}
	for how := empty; how <= watching; how++ {
		if t.place(c, tag, base, in, now, how) {
			return Taken, true
		}
	}
	if !shared {
		return NoRoom, true
	}
	c.Overflowed = true
	return t.takeShared(c), true
}

// How a slot is come by, in this order. A word that happens to be idle is left
// to its key while there is an empty slot: taking it would be right, but a key
// that comes back has to be born again.
const (
	empty = iota
	idle
	watching // of a limit that only watches, for one that is enforced
)

// place gives the key the first slot of its window that can be had in that way.
// The caller holds the mutex.
func (t *Table) place(c *Claim, tag, base, in uint64, now int64, how int) bool {
	if how == watching && t.ids.shadow[c.ID].Load() {
		return false
	}
	for i := uint64(0); i < min(window, t.perShard); i++ {
		ln := base + t.wrap(in+i)
		l := &t.lines[ln]
		for j := range l.slots {
			s := &l.slots[j]
			w, ok := t.seize(s, now, how)
			if !ok {
				continue
			}
			v := w&^uint64(bucket.Payload) + bucket.VersionOne
			t.raise(base+in, i)
			s.tag.Store(tag)
			c.Slot = uint32(ln)*slotsPerLine + uint32(j)
			c.Word = t.birth(c, v|c.Rule.Fresh(w, c.At)&bucket.Payload)
			s.word.Store(c.Word)
			return true
		}
	}
	return false
}

// seize freezes the slot, as the next version of the word w, if it is to be had
// in that way; one whose limit only watches, however its word changes. The
// caller holds the mutex, so the tag stays.
func (t *Table) seize(s *Slot, now int64, how int) (w uint64, ok bool) {
	tag := s.tag.Load()
	if (tag == 0) != (how == empty) || how == watching && !t.ids.shadow[uint8(tag)].Load() {
		return 0, false
	}
	for {
		w = s.word.Load()
		if how == idle && !t.ids.idle(uint8(tag), w, now) {
			return 0, false
		}
		v := w&^uint64(bucket.Payload) + bucket.VersionOne
		if s.word.CompareAndSwap(w, v|bucket.Frozen) {
			return w, true
		}
	}
}

// birth is the charge on a fresh word: it fits, as first decided, and a fresh
// word owes nothing that could have grown since.
func (t *Table) birth(c *Claim, fresh uint64) uint64 {
	if c.Rule.Kind == bucket.Hold {
		return fresh + uint64(c.Cost)
	}
	next, _ := c.Rule.Take(fresh, c.At, c.Cost)
	return next
}

// takeShared charges the overflow word of the key, at the instant of its first
// sight.
func (t *Table) takeShared(c *Claim) Result {
	c.Slot = t.overflow(c.H, c.ID)
	t.ids.spills[c.ID].Store(true)
	for {
		if c.Word = t.slot(c.Slot).word.Load(); !t.decide(c) {
			return Refused
		}
		if t.Commit(c) {
			return Taken
		}
	}
}

// Undo takes back a charge, by its slot and what it left there. What the slot
// holds may be another key's by now: then the charge is gone already, for only
// an idle word is dropped.
func (t *Table) Undo(c *Claim) {
	if c.Rule.Kind == bucket.Flight {
		t.Release(c.Slot, bucket.Life(c.Word), c.Cost)
		return
	}
	s := t.slot(c.Slot)
	for {
		w := s.word.Load()
		if w>>56 != c.Word>>56 || bucket.IsFrozen(w) {
			return
		}
		var next uint64
		if c.Rule.Kind == bucket.Hold {
			next = bucket.ReleaseHold(w, c.Cost)
		} else {
			next = c.Rule.Undo(w, c.Rule.At(t.clock.Now()), c.Word, c.Cost) // the clock is read after the word
		}
		if next == w || s.word.CompareAndSwap(w, next) {
			return
		}
	}
}

// Charge charges what a settlement names, whether or not it fits; exact is
// false when the word could not hold it all. A key without a word gets one, or
// is charged on the overflow word it shares.
func (t *Table) Charge(c *Claim) (exact bool) {
	cost := c.Cost
	for {
		if c.Slot, c.Word = t.Find(c.H, c.ID); c.Slot == None {
			c.Cost = 0 // a place first; the charge then goes the way of a known key
			_, done := t.first(c, true)
			if c.Cost = cost; !done {
				continue
			}
		}
		var next uint64
		next, exact = c.Rule.Charge(c.Word, c.Rule.At(t.clock.Now()), cost)
		if t.slot(c.Slot).word.CompareAndSwap(c.Word, next) {
			c.Word = next
			return exact
		}
	}
}

// Release gives back cost requests in flight. It needs nothing but the slot and
// the word's life, and reports false when that life is over: the requests were
// given back before.
func (t *Table) Release(slot uint32, life uint64, cost int64) bool {
	s := t.slot(slot)
	for {
		w := s.word.Load()
		if bucket.Life(w) != life || bucket.InUse(w) < cost {
			return false
		}
		if s.word.CompareAndSwap(w, w-uint64(cost)) {
			return true
		}
	}
}

// ReleaseHold lets go of a held estimate.
func (t *Table) ReleaseHold(slot uint32, version uint8, estimate int64) bool {
	s := t.slot(slot)
	for {
		w := s.word.Load()
		if uint8(w>>56) != version || bucket.IsFrozen(w) || bucket.Held(w) < estimate {
			return false
		}
		if s.word.CompareAndSwap(w, bucket.ReleaseHold(w, estimate)) {
			return true
		}
	}
}
