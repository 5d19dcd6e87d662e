package key

import (
	"hash/maphash"
	"math/bits"
	"unsafe"

	"github.com/cespare/xxhash/v2"
	"github.com/dchest/siphash"
)

// Key is an identity: 128 bits that stand for the parts it was made from.
type Key struct {
	// H is the keyed hash of the parts: what tells one caller from another. Two
	// keys of one limit share state with a probability below 2^-56 per pair.
	H uint64
	// P is the parts' XXH64: stable across processes and releases, public, and
	// easy to collide on purpose. Of one part it is the XXH64 of its text; the
	// XXH64 of each further part is merged into it as XXH64 merges its lanes.
	P uint64
}

// Hasher makes Keys. It is safe for concurrent use; the zero value is not
// usable.
type Hasher struct {
	seed   maphash.Seed
	k0, k1 uint64 // of SipHash, when there is a secret
	m0, m1 uint64 // secret multipliers that join the parts' hashes
	m2     uint64 // seed, for a memory hash
	first  Lines  // see Ahead
	second Lines
	sip    bool
}

// NewHasher returns a Hasher. Without a secret its H is random per process;
// with one, every process that has the same secret computes the same H
// (SipHash-2-4, keyed by the secret).
func NewHasher(secret []byte) Hasher {
	if len(secret) == 0 {
		h := Hasher{seed: maphash.MakeSeed()}
		h.m0, h.m1, h.m2 = maphash.String(h.seed, "m0"), maphash.String(h.seed, "m1"), maphash.String(h.seed, "m2")
		return h
	}
	// Digests of the secret are the key, so that a secret of any length is used
	// whole.
	h := Hasher{sip: true}
	h.k0, h.k1 = siphash.Hash128(0, 1, secret)
	h.m0, h.m1 = siphash.Hash128(2, 3, secret)
	return h
}

// Key returns the identity of the parts. It does not allocate, whatever their
// number and length. The parts stay apart: ("ab", "c") is another identity than
// ("a", "bc"), and than ("ab", "c", "").
func (h *Hasher) Key(parts ...string) Key {
	if len(parts) != 1 || len(parts[0]) >= stripe {
		return h.join(parts)
	}
	// What is commonest: one short text. Its XXH64 is written out, since to call for
	// it takes half as long again; so is what join does too, which is not inlined.
	s := parts[0]
	p, n, at := unsafe.Pointer(unsafe.StringData(s)), len(s), 0
	var k Key
	if h.sip {
		k.H = h.siphash(s)
	} else {
		k.H = h.keyed(s)
	}
	if h.first.N != 0 {
		h.first.ahead(k.H)
		if h.second.N != 0 {
			h.second.ahead(k.H ^ h.second.Salt)
		}
	}
	k.P = prime5 + uint64(n)
	if n&16 != 0 {
		k.P = mix8(mix8(k.P, p), unsafe.Add(p, 8))
		at = 16
	}
	if n&8 != 0 {
		k.P = mix8(k.P, unsafe.Add(p, at))
		at += 8
	}
	if n&4 != 0 {
		k.P = mix4(k.P, unsafe.Add(p, at))
		at += 4
	}
	for ; at < n; at++ {
		k.P = mix1(k.P, unsafe.Add(p, at))
	}
	k.P = avalanche(k.P)
	return k
}

// join is Key for parts of any number and length.
func (h *Hasher) join(parts []string) Key {
	if len(parts) == 0 {
		return Key{H: h.m0}
	}
	// Each part is hashed where it lies. Joining them first in a buffer costs more
	// than the hashing: it is read back before the stores have settled.
	k := Key{H: h.secret(parts[0]), P: xxhash.Sum64String(parts[0])}
	for _, p := range parts[1:] {
		k.H = h.fold(k.H, h.secret(p))
		k.P = foldPublic(k.P, xxhash.Sum64String(p))
	}
	if h.first.N != 0 {
		h.first.ahead(k.H)
		if h.second.N != 0 {
			h.second.ahead(k.H ^ h.second.Salt)
		}
	}
	return k
}

// secret is the keyed hash of one part.
func (h *Hasher) secret(part string) uint64 {
	if h.sip {
		return h.siphash(part)
	}
	return h.keyed(part)
}

func (h *Hasher) siphash(s string) uint64 {
	return siphash.Hash(h.k0, h.k1, unsafe.Slice(unsafe.StringData(s), len(s)))
}

// fold folds the next part's hash into that of the parts before it. Both are
// keyed already, and so is the fold: nobody outside knows what to aim at.
func (h *Hasher) fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^h.m0, b^h.m1)
	return hi ^ lo
}
