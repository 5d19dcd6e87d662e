package key

import "unsafe"

// lineSize is the size of a cache line of a table.
const lineSize = 64

// Line maps the upper half of H evenly to n lines, fewer than 2^32: it is the one in
// which a table with so many looks for the key first.
func Line(h, n uint64) uint64 { return h >> 32 * n >> 32 }

// Ahead tells the hasher of a table of n lines of 64 bytes, in which the key's is
// going to be looked at soon: from then on Key asks the memory for it, and goes on
// without waiting. What is not in any cache is on its way then while the caller
// puts its request together, and several keys' lines come at the same time.
// It is not for concurrent use with Key.
func (h *Hasher) Ahead(first unsafe.Pointer, n uint64) { h.first, h.lines = first, n }

// ahead asks for the line of a key, in a table that there is.
func (h *Hasher) ahead(k uint64) { fetch(unsafe.Add(h.first, Line(k, h.lines)*lineSize)) }
