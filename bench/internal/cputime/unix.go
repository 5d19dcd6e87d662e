//go:build unix

package cputime

import (
	"syscall"
	"time"
)

// Now is the processor time of all threads since the process began, in user and
// in system mode; ok is false where the system does not say.
func Now() (t time.Duration, ok bool) {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0, false
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), true
}
