//go:build !linux

package cores

// Take is not known here.
func Take(int) (ok bool) { return false }
