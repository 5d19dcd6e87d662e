package shard_test

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bucket"
	"github.com/weir-go/weir/shard"
)

// Random histories over few keys and kinds decide the same in a tiny table that
// is swept and whose slots change hands all the time as in a large one that is
// never swept: only what does not matter is forgotten.
func TestForgettingChangesNoDecision(t *testing.T) {
	for seed := range uint64(150) {
		rnd := rand.New(rand.NewPCG(seed, 21))
		small, large := newRoom(t, 1), newRoom(t, 1<<16)
		kinds := func(r *room) []*rule {
			return []*rule{
				r.token(1, time.Second, 3),
				r.assign(bucket.NewSliding(4, 2*time.Second)),
				r.flight(2),
				r.token(10, time.Second, 1),
			}
		}
		ks, kl := kinds(small), kinds(large)
		hs := keys(seed, 12)
		type pair struct{ s, l *shard.Claim }
		var out []pair
		full := 0
		for range 1500 {
			switch rnd.IntN(10) {
			case 0:
				d := time.Duration(rnd.Int64N(int64(time.Second)))
				small.advance(d)
				large.advance(d)
			case 1:
				small.Sweep(rnd.IntN(small.Lines()+1), small.clock.Now())
			case 2:
				if len(out) > 0 {
					i := rnd.IntN(len(out))
					small.Undo(out[i].s)
					large.Undo(out[i].l)
					out = append(out[:i], out[i+1:]...)
				}
			default:
				k, h := rnd.IntN(len(ks)), hs[rnd.IntN(len(hs))]
				cost := 1 + rnd.Int64N(2)
				if cost > ks[k].Max() {
					cost = 1
				}
				cs, rs := ks[k].ask(h, cost, false)
				if rs == shard.NoRoom {
					full++ // no slot of 64 is idle: nothing to compare
					continue
				}
				cl, rl := kl[k].ask(h, cost, false)
				require.Equal(t, rl, rs, "seed %d: kind %d key %x at %d", seed, k, h, small.clock.Now())
				if rs == shard.Taken && (ks[k].Kind == bucket.Flight || rnd.IntN(4) == 0) {
					out = append(out, pair{cs, cl})
				}
			}
		}
		require.Less(t, full, 300)
	}
}

// A drained key in the table stays drained while a hundred thousand others pass
// by, and no key is admitted twice: rotating keys buys no fresh bursts.
func TestRotatingKeysBuysNoFreshBursts(t *testing.T) {
	r := newRoom(t, 1000)
	l := r.token(1, time.Hour, 1)
	require.True(t, l.take(42, 1))
	hs := keys(6, 2000)
	admitted := 0
	for range 10 {
		for _, h := range hs {
			if l.take(h, 1) {
				admitted++
			}
		}
		r.sweepAll()
	}
	require.LessOrEqual(t, admitted, 2000)
	require.GreaterOrEqual(t, admitted, 1000)
	for _, h := range keys(7, 100_000) {
		l.take(h, 1)
	}
	require.False(t, l.take(42, 1))
}

// One unit of debt keeps a word; without it the word goes.
func TestOnlyIdleWordsAreDropped(t *testing.T) {
	r := newRoom(t, 1)
	l := r.token(1, time.Second, 1)
	require.True(t, l.take(42, 1))
	r.advance(time.Second - 1)
	r.sweepAll()
	slot, _ := r.Find(42, l.id)
	require.NotEqual(t, shard.None, slot)
	r.advance(1)
	r.sweepAll()
	slot, _ = r.Find(42, l.id)
	require.Equal(t, shard.None, slot)
}

// A million keys that come once, ten fake minutes: the memory is what it was,
// slots are used again before anything overflows, and a key that comes all the
// time keeps its state.
func TestOneShotKeysAreBounded(t *testing.T) {
	r := newRoom(t, 1<<14)
	l := r.token(1, time.Second, 10)
	bytes := r.Bytes()
	hot, overflowed := 0, 0
	rnd := rand.New(rand.NewPCG(8, 8))
	for i := range 1_000_000 {
		if i%100 == 0 {
			r.advance(60 * time.Millisecond)
			r.Sweep(64, r.clock.Now())
		}
		c, res := l.ask(rnd.Uint64(), 1, true)
		if res != shard.Taken || c.Overflowed {
			overflowed++
		}
		if l.take(42, 1) {
			hot++
		}
	}
	require.Zero(t, overflowed)
	require.Equal(t, 10+599, hot, "a burst and a token a second")
	require.Equal(t, bytes, r.Bytes())
}

// The table is fixed when it is made, at 27 bytes or so a state.
func TestMemoryIsFixedByTheNumberOfEntries(t *testing.T) {
	for _, n := range []int{1, 1000, 1 << 20} {
		b := newRoom(t, n).Bytes()
		overflow := 256 * 8 * 16
		require.LessOrEqual(t, float64(b-overflow), 27.5*float64(n)+8192)
	}
}

// The garbage collector must never walk the lines: nothing in them is a pointer.
func TestLinesHoldNoPointers(t *testing.T) {
	lines, ok := reflect.TypeFor[shard.Table]().FieldByName("lines")
	require.True(t, ok)
	reach, ok := reflect.TypeFor[shard.Table]().FieldByName("reach")
	require.True(t, ok)
	for _, typ := range []reflect.Type{lines.Type.Elem(), reach.Type.Elem()} {
		require.Empty(t, pointers(typ), typ)
	}
	require.EqualValues(t, 64, lines.Type.Elem().Size())
}

// pointers lists the pointers that a value of the type holds.
func pointers(t reflect.Type) (found []string) {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			found = append(found, pointers(t.Field(i).Type)...)
		}
	case reflect.Array:
		found = pointers(t.Elem())
	case reflect.Bool, reflect.Int32, reflect.Int64, reflect.Uint8, reflect.Uint32, reflect.Uint64:
	default:
		found = append(found, t.String())
	}
	return found
}
