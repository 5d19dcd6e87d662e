package key

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/cespare/xxhash/v2"
	"github.com/dchest/siphash"
)

// Key is an identity: 128 bits that stand for the parts it was made from.
type Key struct {
	// H is the keyed hash of the parts: what tells one caller from another. Two
	// keys of one limit share state with a probability below 2^-56 per pair.
	H uint64
	// P is the XXH64 of the same bytes: stable across processes and releases,
	// public, and easy to collide on purpose.
	P uint64
}

// Hasher makes Keys. It is safe for concurrent use; the zero value is not
// usable.
type Hasher struct {
	seed   maphash.Seed
	k0, k1 uint64
	sip    bool
}

// NewHasher returns a Hasher. Without a secret its H is random per process;
// with one, every process that has the same secret computes the same H
// (SipHash-2-4, keyed by the secret).
func NewHasher(secret []byte) Hasher {
	if len(secret) == 0 {
		return Hasher{seed: maphash.MakeSeed()}
	}
	// Two independent digests of the secret are the SipHash key, so that a
	// secret of any length is used whole.
	k0, k1 := siphash.Hash128(0x77656972, 0x6b657931, secret)
	return Hasher{k0: k0, k1: k1, sip: true}
}

// stackBytes is the size up to which parts are joined on the stack. Longer
// keys are hashed piece by piece: constant memory, whatever a client sends.
const stackBytes = 192

// Key returns the identity of the parts. It does not allocate, whatever their
// number and length.
func (h *Hasher) Key(parts ...string) Key {
	n := 0
	for _, p := range parts {
		n += len(p) + binary.MaxVarintLen32
	}
	if n > stackBytes {
		return h.long(parts)
	}
	var buf [stackBytes]byte
	b := buf[:0]
	for _, p := range parts {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	return Key{H: h.sum(b), P: xxhash.Sum64(b)}
}

func (h *Hasher) sum(b []byte) uint64 {
	if h.sip {
		return siphash.Hash(h.k0, h.k1, b)
	}
	return maphash.Bytes(h.seed, b)
}

// long hashes the same bytes as Key in blocks. The blocks of H are chained, so
// it is another function of the bytes than sum; which of the two a key takes
// depends on its length alone.
func (h *Hasher) long(parts []string) Key {
	var (
		x   xxhash.Digest
		buf [8 + stackBytes]byte
		acc uint64
	)
	x.Reset()
	b := buf[:8]
	flush := func() {
		binary.LittleEndian.PutUint64(buf[:8], acc)
		acc = h.sum(b)
		b = buf[:8]
	}
	for _, p := range parts {
		var l [binary.MaxVarintLen64]byte
		n := binary.PutUvarint(l[:], uint64(len(p)))
		_, _ = x.Write(l[:n])
		_, _ = x.WriteString(p)
		for _, piece := range [2]string{string(l[:n]), p} {
			for len(piece) > 0 {
				if len(b) == len(buf) {
					flush()
				}
				k := copy(buf[len(b):], piece)
				b, piece = buf[:len(b)+k], piece[k:]
			}
		}
	}
	flush()
	return Key{H: acc, P: x.Sum64()}
}
