package key

import (
	"hash/maphash"
	"math/bits"
	"unsafe"
)

// memhash is the runtime's keyed hash of memory: what hash/maphash hashes with,
// without the four calls that lead there, which take as long as it does. The
// runtime keeps the name open to those who need it (its documentation of memhash
// lists them; xsync is one).
//
//go:noescape
//go:linkname memhash runtime.memhash
func memhash(p unsafe.Pointer, seed, size uintptr) uintptr

// keyed is the hash of s under the seed, random per process.
func (h *Hasher) keyed(s string) uint64 {
	if bits.UintSize == 64 {
		return uint64(memhash(unsafe.Pointer(unsafe.StringData(s)), uintptr(h.m2), uintptr(len(s))))
	}
	return maphash.String(h.seed, s)
}
