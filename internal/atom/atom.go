//go:build !explore

// Package atom is the atomics and the lock of the lock-free rooms, so that a
// build with the tag explore can put a scheduler behind every one of them. In
// an ordinary build they are the standard library's own types.
package atom

import (
	"sync"
	"sync/atomic"
)

// Uint64 is a word that several goroutines share.
type Uint64 = atomic.Uint64

// Mutex is a lock.
type Mutex = sync.Mutex

// Bool is a flag that several goroutines share.
type Bool = atomic.Bool
