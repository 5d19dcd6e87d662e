//go:build amd64 || arm64

package key

import "unsafe"

// fetch asks for the cache line at p. It is a hint: it waits for nothing, and an
// instruction that would load the line instead would be waited for.
//
//go:noescape
func fetch(p unsafe.Pointer)
