//go:build linux || darwin

package key_test

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/cespare/xxhash/v2"
	"github.com/stretchr/testify/require"
)

// A text may end where the memory does, or begin there.
func TestPartsAtTheEdgeOfAPage(t *testing.T) {
	page := syscall.Getpagesize()
	mem, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	defer func() { require.NoError(t, syscall.Munmap(mem)) }()
	for i := range mem {
		mem[i] = byte(i * 7)
	}
	require.NoError(t, syscall.Mprotect(mem[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(mem[2*page:], syscall.PROT_NONE))
	mine := mem[page : 2*page]
	for name, h := range hashers {
		t.Run(name, func(t *testing.T) {
			for n := 1; n <= 100; n++ {
				for _, text := range [][]byte{mine[:n], mine[page-n:]} {
					part := unsafe.String(&text[0], n)
					require.Equal(t, xxhash.Sum64String(part), h.Key(part).P, "%d bytes", n)
					require.Equal(t, h.Key(part, part), h.Key(string(text), string(text)), "%d bytes", n)
				}
			}
		})
	}
}
