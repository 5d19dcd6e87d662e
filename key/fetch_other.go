//go:build !amd64 && !arm64

package key

import "unsafe"

// fetch does nothing where there is no instruction for it here.
func fetch(unsafe.Pointer) {}
