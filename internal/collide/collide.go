// Package collide builds keys on which XXH64 collides, for the tests of what
// must not hang on it.
package collide

import (
	"encoding/binary"
	"math/bits"
)

// The first, second, fourth and fifth prime of XXH64.
const (
	prime1 uint64 = 0x9e3779b185ebca87
	prime2 uint64 = 0xc2b2ae3d27d4eb4f
	prime4 uint64 = 0x85ebca77c2b2ae63
	prime5 uint64 = 0x27d4eb2f165667c5
)

// round is what XXH64 makes of eight bytes before it mixes them in.
func round(k uint64) uint64 { return bits.RotateLeft64(k*prime2, 31) * prime1 }

// unround is the inverse of round.
func unround(x uint64) uint64 { return bits.RotateLeft64(x*inverse(prime1), -31) * inverse(prime2) }

// inverse is that of an odd number modulo 2^64: every step doubles the right bits.
func inverse(a uint64) uint64 {
	x := a
	for range 5 {
		x *= 2 - a*x
	}
	return x
}

// mix is the step with which XXH64 takes in eight bytes.
func mix(h, k uint64) uint64 { return bits.RotateLeft64(h^round(k), 27)*prime1 + prime4 }

// Keys returns n different 16-byte keys that have one XXH64 (of seed 0): the
// first half is free, the second is solved for.
func Keys(n int) []string {
	const target = 0x0123456789abcdef // of the state before the last bytes are turned in
	keys := make([]string, n)
	for i := range keys {
		k1 := uint64(i)*prime4 + prime2
		h := mix(prime5+16, k1)
		keys[i] = join(k1, unround(h^target))
	}
	return keys
}

// Pairs returns n pairs of 16-byte keys whose XXH64 agree under every seed. The
// first halves differ so that the state differs in its bit 36, which the
// rotation moves to the top, where multiplication leaves it alone; the second
// halves differ so that the top bit cancels.
func Pairs(n int) [][2]string {
	pairs := make([][2]string, n)
	for i := range pairs {
		k1, k2 := uint64(2*i+1)*prime4, uint64(2*i+2)*prime5
		pairs[i] = [2]string{join(k1, k2), join(unround(round(k1)^1<<36), unround(round(k2)^1<<63))}
	}
	return pairs
}

func join(a, b uint64) string {
	return string(binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, a), b))
}
