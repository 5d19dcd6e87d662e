package key

import (
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// The primes of XXH64.
const prime1, prime2, prime3, prime4, prime5 = 0x9e3779b185ebca87, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9, 0x85ebca77c2b2ae63, 0x27d4eb2f165667c5

// stripe is how long a text must be for XXH64 to have four lanes.
const stripe = 32

// What XXH64 does with a text that is shorter than a stripe, in the parts that
// Hasher.Key puts together: eight bytes, four, one, and the end.

func mix8(h uint64, p unsafe.Pointer) uint64 {
	h ^= bits.RotateLeft64(binary.LittleEndian.Uint64((*[8]byte)(p)[:])*prime2, 31) * prime1
	return bits.RotateLeft64(h, 27)*prime1 + prime4
}

func mix4(h uint64, p unsafe.Pointer) uint64 {
	h ^= uint64(binary.LittleEndian.Uint32((*[4]byte)(p)[:])) * prime1
	return bits.RotateLeft64(h, 23)*prime2 + prime3
}

func mix1(h uint64, p unsafe.Pointer) uint64 {
	h ^= uint64(*(*byte)(p)) * prime5
	return bits.RotateLeft64(h, 11) * prime1
}

func avalanche(h uint64) uint64 {
	h = (h ^ h>>33) * prime2
	h = (h ^ h>>29) * prime3
	return h ^ h>>32
}

// foldPublic folds the next part's hash into that of the parts before it, as
// XXH64 merges one of its lanes into the hash.
func foldPublic(a, b uint64) uint64 {
	return (a^bits.RotateLeft64(b*prime2, 31)*prime1)*prime1 + prime4
}
