package shard

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/internal/atom"
)

// ErrNoID says that all 255 table ids are in use.
var ErrNoID = errors.New("no table id is free: 255 rules are in use or were until lately")

// ids gives the words their rules: the table id in a tag says by which rule the
// word is to be read, whoever it belongs to.
type ids struct {
	rules  [maxIDs]atomic.Pointer[bucket.Rule]
	shadow [maxIDs]atom.Bool
	spills [maxIDs]atom.Bool // overflow words of the id have been used

	span atomic.Int64 // of the shortest-lived words, ns

	mu   sync.Mutex
	used [maxIDs]bool
	wait [maxIDs]int // retired: whole sweeps still to pass
}

// Assign gives a rule a table id.
func (t *Table) Assign(r *bucket.Rule) (uint8, error) {
	t.ids.mu.Lock()
	defer t.ids.mu.Unlock()
	for id := 1; id < maxIDs; id++ {
		if t.ids.used[id] {
			continue
		}
		t.ids.used[id] = true
		t.ids.rules[id].Store(r)
		t.ids.setSpan()
		t.ids.shadow[id].Store(false)
		t.ids.spills[id].Store(false)
		at := r.At(t.clock.Now())
		for i := uint32(0); i < overflowSlots; i++ {
			s := t.slot(uint32(t.main) + uint32(id)*overflowSlots + i)
			s.tag.Store(uint64(id))
			s.word.Store(r.Fresh(s.word.Load()+bucket.VersionOne, at))
		}
		return uint8(id), nil
	}
	return 0, ErrNoID
}

// Retune replaces the rule of an id by one that reads the same words.
func (t *Table) Retune(id uint8, r *bucket.Rule) {
	t.ids.rules[id].Store(r)
	t.ids.setSpan()
}

// SetShadow says whether the id's words yield to those of enforced limits.
func (t *Table) SetShadow(id uint8, shadow bool) { t.ids.shadow[id].Store(shadow) }

// Retire takes an id out of use. Its words keep their meaning until a full
// sweep has found none of them; only then is the id given out again.
func (t *Table) Retire(id uint8) {
	t.ids.mu.Lock()
	defer t.ids.mu.Unlock()
	t.ids.wait[id] = retireSweeps
}

// retireSweeps is how many whole sweeps must find no word of a retired id: the
// one under way saw only a part of the table, and a second one outlives any
// request that still has the old rule in hand.
const retireSweeps = 2

// Span returns within which time a whole sweep must pass, for the words of
// every rule to stay good.
func (t *Table) Span() time.Duration {
	return time.Duration(t.ids.span.Load())
}

// setSpan works out Span from the rules there are.
func (x *ids) setSpan() {
	span := time.Duration(math.MaxInt64)
	for id := range x.rules {
		if r := x.rules[id].Load(); r != nil {
			span = min(span, r.Span())
		}
	}
	x.span.Store(int64(span))
}

// swept ends a whole sweep that found these many words of each id.
func (x *ids) swept(found *[maxIDs]int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id := range x.wait {
		switch {
		case x.wait[id] == 0:
		case found[id] > 0:
			x.wait[id] = retireSweeps
		default:
			if x.wait[id]--; x.wait[id] == 0 {
				x.used[id] = false
			}
		}
	}
}

func (x *ids) idle(id uint8, w uint64, now int64) bool {
	r := x.rules[id].Load()
	return r != nil && r.Idle(w, r.At(now))
}
