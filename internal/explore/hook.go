//go:build explore

package explore

import (
	"fmt"

	"github.com/weir-go/weir/internal/atom"
)

// Before is part of atom.Hook.
func (s *sched) Before(k atom.Kind, p *uint64) {
	if s.quiet {
		if k == atom.Lock && *p != 0 {
			panic("explore: a check waits for a lock")
		}
		return
	}
	if s.abort {
		panic(unwind{}) // a deferred function of a thread that unwinds
	}
	t := s.threads[s.cur]
	w := s.word(p, *p)
	if !s.touch(w, k) {
		if t.alone++; t.alone > maxAlone {
			s.fail(ErrLivelock)
			s.abort, s.next = true, -1
		}
		if s.abort {
			panic(unwind{})
		}
		return
	}
	first := t.on == nil
	t.pending, t.on = k, p
	if !first {
		next := s.choose()
		if next == s.cur {
			return
		}
		s.next = next
	}
	t.yield(struct{}{})
	if s.abort {
		panic(unwind{})
	}
}

// touch notes the current thread's operation on the word and reports whether
// it is one to decide on.
func (s *sched) touch(w *word, k atom.Kind) bool {
	if w.contended {
		return true
	}
	w.users |= 1 << s.cur
	w.written = w.written || k != atom.Load
	if w.written && (w.users&(w.users-1) != 0 || s.sc.Step != nil) {
		w.contended = true
		s.afresh, s.abort, s.next = true, true, -1
	}
	return false
}

// After is part of atom.Hook.
func (s *sched) After(k atom.Kind, p *uint64, before, after, seen uint64) {
	if s.quiet {
		if before != after {
			s.word(p, before)
		}
		return
	}
	t := s.threads[s.cur]
	if s.trace != nil {
		s.trace = append(s.trace, fmt.Sprintf("%d: %-7s word %d  %x -> %x", s.cur, k, s.word(p, before).n, before, after))
	}
	t.seen = mix(t.seen + seen + 1)
	if before == after {
		return
	}
	w := s.word(p, before)
	s.mem += mix(w.salt+after) - mix(w.salt+before)
	if s.sc.LocksGuardWords {
		return
	}
	switch k {
	case atom.Lock, atom.TryLock:
		t.seen = mix(t.seen ^ w.knows)
	case atom.Unlock:
		s.mem -= mix(w.salt ^ w.knows)
		w.knows = t.seen
		s.mem += mix(w.salt ^ w.knows)
	}
}

func (s *sched) word(p *uint64, init uint64) *word {
	w := s.words[p]
	if w == nil {
		n := len(s.words) + 1
		w = &word{n: n, salt: mix(uint64(n)), init: init}
		s.words[p] = w
	}
	return w
}

// key is the hash of the state.
func (s *sched) key() uint64 {
	h := s.mem
	for _, t := range s.threads {
		k := t.seen
		if t.done {
			k = ^k
		}
		h = mix(h ^ k)
	}
	return h
}

// mix is a bijection of 64 bits in which every bit of the result depends on
// every bit of the argument.
func mix(x uint64) uint64 {
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	return x
}
