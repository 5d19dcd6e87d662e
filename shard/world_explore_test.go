//go:build explore

package shard

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/internal/atom"
	"github.com/weir-go/weir/internal/explore"
)

// world is a table of one shard and one line with few usable slots, so that
// three goroutines can be driven through every interleaving on it.
type world struct {
	t   testing.TB
	tab *Table
	now atom.Uint64 // the clock: one tick is one unit of the rules' token clock
}

func (w *world) Now() int64        { return int64(w.now.Load()) }
func (w *world) Publish(now int64) {}

// newWorld returns a table with n free slots; the others hold words that never
// fall idle.
func newWorld(t testing.TB, n int) *world { return newWorldAway(t, 0, n) }

// newWorldAway is newWorld with the free slots so many lines away from the one in
// which all keys are at home.
func newWorldAway(t testing.TB, away uint64, n int) *world {
	w := &world{t: t}
	w.tab = &Table{
		lines:      make([]Line, away+1+maxIDs*overflowSlots/slotsPerLine),
		reach:      make([]atom.Uint64, 1),
		mus:        make([]mutex, 1),
		shardShift: 64,
		perShard:   away + 1,
		main:       (away + 1) * slotsPerLine,
		clock:      w,
	}
	busy := w.flight(1)
	for i := range w.tab.main {
		if i/slotsPerLine == away && i%slotsPerLine < uint64(n) {
			continue
		}
		s := w.tab.slot(uint32(i))
		s.tag.Store(TagOf(0xf00+i, busy.ID))
		s.word.Store(1)
	}
	return w
}

// limit is a rule with its table id; its claims are of one key.
type limit struct {
	*world
	Rule *bucket.Rule
	ID   uint8
}

// token gains a token per tick.
func (w *world) token(burst int64) limit {
	r, err := bucket.NewToken(1, time.Nanosecond, burst)
	require.NoError(w.t, err)
	return w.assign(&r)
}

func (w *world) flight(max int64) limit {
	r, err := bucket.NewFlight(max)
	require.NoError(w.t, err)
	return w.assign(&r)
}

func (w *world) assign(r *bucket.Rule) limit {
	id, err := w.tab.Assign(r)
	require.NoError(w.t, err)
	return limit{w, r, id}
}

// acct is a key's account with a limit: what one thread did on it. Every thread
// has its own.
type acct struct {
	limit
	h        uint64
	Claim    Claim
	admitted int64 // sum of the costs that passed
	refused  int64 // sum of those that did not
	from     int64 // when the first that passed was asked
	other    *acct // the thread's other account
	express  bool  // tries the engine's express way first
}

// summary is the account after a call: all that the thread's further doings
// depend on.
func (a *acct) summary() {
	v := a.values()
	if a.other != nil {
		v = append(v, a.other.values()...)
	}
	explore.Summary(v...)
}

func (a *acct) values() []uint64 {
	return []uint64{uint64(a.Claim.Slot), a.Claim.Word, uint64(a.admitted), uint64(a.refused), uint64(a.from)}
}

// take asks for cost as the engine does: look, commit, and decide again when
// that fails.
func (a *acct) take(cost int64) bool {
	defer a.summary()
	now := a.Now()
	a.Claim = Claim{H: a.h, Cost: cost, Rule: a.Rule, ID: a.ID}
	if a.express && a.takeKnown(now) ||
		a.tab.Look(&a.Claim, now) && a.tab.Commit(&a.Claim) || a.tab.Take(&a.Claim, now, false) == Taken {
		if a.admitted == 0 {
			a.from = now
		}
		a.admitted += cost
		return true
	}
	a.refused += cost
	return false
}

// takeKnown charges a known key's word, by the steps of the engine's express way, or
// reports that it could not.
func (a *acct) takeKnown(now int64) bool {
	tag := TagOf(a.h, a.ID)
	s := a.tab.Home(a.h).Pick(tag)
	old, ok := s.Read(tag)
	if !ok {
		if s, old, ok = a.tab.Seek(a.h, tag); !ok {
			return false
		}
	}
	var next uint64
	if a.Rule.Kind == bucket.Token {
		spender := a.Rule.Spender()
		var room int64
		next, room = spender.Spend(old, a.Rule.SpendAt(now), uint64(a.Claim.Cost))
		ok = room >= 0
	} else {
		next, ok = a.Rule.Take(old, a.Rule.At(now), a.Claim.Cost)
	}
	if !ok || !s.Change(old, next) {
		return false
	}
	a.Claim.Slot, a.Claim.Word = a.tab.Index(s), next
	return true
}

// quick is the same account on the express way.
func (a acct) quick() acct {
	a.express = true
	return a
}

// undo takes the last charge back.
func (a *acct) undo() {
	a.tab.Undo(&a.Claim)
	a.admitted -= a.Claim.Cost
	a.summary()
}

func (l limit) of(h uint64) acct { return acct{limit: l, h: h} }

// arrival is V of the key's word; a key without a word arrives now.
func (a *acct) arrival() int64 {
	if s, w := a.tab.Find(a.h, a.ID); s != None {
		return int64(w & bucket.Payload)
	}
	return a.Now()
}

// noTwins fails when a key has two words.
func (w *world) noTwins() error {
	seen := map[uint64]bool{}
	for i := range uint32(w.tab.main) {
		tag := w.tab.slot(i).tag.Load()
		if tag != 0 && seen[tag] {
			return fmt.Errorf("key %x has two words", tag)
		}
		seen[tag] = true
	}
	return nil
}

// explore runs the scenario through every interleaving and wants no violation.
func (w *world) explore(sc explore.Scenario) {
	w.t.Helper()
	// The mutex of a shard guards nothing but words.
	sc.LocksGuardWords = true
	r := explore.Run(sc)
	if r.Err != nil {
		trace, _ := explore.Replay(sc, r)
		for _, line := range trace {
			w.t.Log(line)
		}
	}
	w.t.Log(r)
	require.NoError(w.t, r.Err)
}

func all(errs ...error) error { return errors.Join(errs...) }

func holds(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
