//go:build explore

package atom

import (
	"runtime"
	"sync/atomic"
)

// Kind is the kind of an operation.
type Kind uint8

// The kinds. Lock is the only one that can wait.
const (
	Load Kind = iota
	Store
	Swap
	CompareAndSwap
	Add
	Or
	And
	Lock
	TryLock
	Unlock
)

var kindNames = [...]string{"load", "store", "swap", "cas", "add", "or", "and", "lock", "trylock", "unlock"}

// String returns the kind's name.
func (k Kind) String() string { return kindNames[k] }

// Hook is a scheduler: it is asked before every operation and told after it.
type Hook interface {
	// Before returns when the operation on the word may happen. Other goroutines
	// may have run in between.
	Before(k Kind, word *uint64)
	// After reports the word's values before and after the operation, and what
	// the caller saw of it.
	After(k Kind, word *uint64, before, after, seen uint64)
}

// active is the scheduler at work, nil if none. Only one goroutine at a time
// runs while one is set.
var active Hook

// SetHook puts a scheduler behind every operation of the process, or takes it
// away (nil). Nothing else may use this package's types meanwhile.
func SetHook(h Hook) { active = h }

// Uint64 is a word that several goroutines share.
type Uint64 struct{ v uint64 }

// Load returns the value.
func (u *Uint64) Load() uint64 {
	h := active
	if h == nil {
		return atomic.LoadUint64(&u.v)
	}
	h.Before(Load, &u.v)
	v := u.v
	h.After(Load, &u.v, v, v, v)
	return v
}

// Store sets the value.
func (u *Uint64) Store(v uint64) {
	h := active
	if h == nil {
		atomic.StoreUint64(&u.v, v)
		return
	}
	h.Before(Store, &u.v)
	old := u.v
	u.v = v
	h.After(Store, &u.v, old, v, 0)
}

// Swap sets the value and returns the one before.
func (u *Uint64) Swap(v uint64) uint64 {
	h := active
	if h == nil {
		return atomic.SwapUint64(&u.v, v)
	}
	h.Before(Swap, &u.v)
	old := u.v
	u.v = v
	h.After(Swap, &u.v, old, v, old)
	return old
}

// CompareAndSwap sets the value if it is the old one, and reports whether it
// did.
func (u *Uint64) CompareAndSwap(old, v uint64) bool {
	h := active
	if h == nil {
		return atomic.CompareAndSwapUint64(&u.v, old, v)
	}
	h.Before(CompareAndSwap, &u.v)
	was := u.v
	if was != old {
		h.After(CompareAndSwap, &u.v, was, was, 0)
		return false
	}
	u.v = v
	h.After(CompareAndSwap, &u.v, was, v, 1)
	return true
}

// Add adds and returns the sum.
func (u *Uint64) Add(d uint64) uint64 {
	h := active
	if h == nil {
		return atomic.AddUint64(&u.v, d)
	}
	h.Before(Add, &u.v)
	old := u.v
	u.v += d
	h.After(Add, &u.v, old, old+d, old+d)
	return old + d
}

// Or sets the bits of the mask and returns the value before.
func (u *Uint64) Or(mask uint64) uint64 {
	h := active
	if h == nil {
		return atomic.OrUint64(&u.v, mask)
	}
	h.Before(Or, &u.v)
	old := u.v
	u.v |= mask
	h.After(Or, &u.v, old, old|mask, old)
	return old
}

// And keeps the bits of the mask and returns the value before.
func (u *Uint64) And(mask uint64) uint64 {
	h := active
	if h == nil {
		return atomic.AndUint64(&u.v, mask)
	}
	h.Before(And, &u.v)
	old := u.v
	u.v &= mask
	h.After(And, &u.v, old, old&mask, old)
	return old
}

// Bool is a flag that several goroutines share.
type Bool struct{ w Uint64 }

// Load returns the flag.
func (b *Bool) Load() bool { return b.w.Load() != 0 }

// Store sets the flag.
func (b *Bool) Store(v bool) {
	if v {
		b.w.Store(1)
	} else {
		b.w.Store(0)
	}
}

// Mutex is a lock. Without a scheduler it spins.
type Mutex struct{ v uint64 }

// Lock takes the lock, waiting for it.
func (m *Mutex) Lock() {
	h := active
	if h == nil {
		for !atomic.CompareAndSwapUint64(&m.v, 0, 1) {
			runtime.Gosched()
		}
		return
	}
	h.Before(Lock, &m.v)
	m.v = 1
	h.After(Lock, &m.v, 0, 1, 0)
}

// TryLock takes the lock if it is free, and reports whether it did.
func (m *Mutex) TryLock() bool {
	h := active
	if h == nil {
		return atomic.CompareAndSwapUint64(&m.v, 0, 1)
	}
	h.Before(TryLock, &m.v)
	if m.v != 0 {
		h.After(TryLock, &m.v, 1, 1, 0)
		return false
	}
	m.v = 1
	h.After(TryLock, &m.v, 0, 1, 1)
	return true
}

// Unlock gives the lock back.
func (m *Mutex) Unlock() {
	h := active
	if h == nil {
		if !atomic.CompareAndSwapUint64(&m.v, 1, 0) {
			panic("atom: unlock of an unlocked mutex")
		}
		return
	}
	h.Before(Unlock, &m.v)
	if m.v == 0 {
		panic("atom: unlock of an unlocked mutex")
	}
	m.v = 0
	h.After(Unlock, &m.v, 1, 0, 0)
}
