//go:build !unix

package cputime

import "time"

// Now is not known here.
func Now() (t time.Duration, ok bool) { return 0, false }
