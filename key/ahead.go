package key

import "unsafe"

// lineSize is the size of a cache line of a table.
const lineSize = 64

// Line maps the upper half of a hash evenly to n lines, fewer than 2^32: it is the
// one in which a table with so many looks for the key first.
func Line(h, n uint64) uint64 { return h >> 32 * n >> 32 }

// Lines is a table's lines of 64 bytes: N of them from First on, fewer than 2^32.
type Lines struct {
	First   unsafe.Pointer
	N, Salt uint64
}

// Ahead tells the hasher of a table, in which the key's line is Line(H, N), and of a
// second one, in which it is Line(H^Salt, N), unless that is the zero Lines. They are
// going to be looked at soon: from then on Key asks the memory for those lines, and
// goes on without waiting. What is not in any cache is on its way then while the
// caller puts its request together, and several keys' lines come at the same time.
// It is not for concurrent use with Key.
func (h *Hasher) Ahead(table, second Lines) { h.first, h.second = table, second }

// ahead asks for the line of a key, in a table that there is.
func (l *Lines) ahead(h uint64) { fetch(unsafe.Add(l.First, Line(h, l.N)*lineSize)) }
