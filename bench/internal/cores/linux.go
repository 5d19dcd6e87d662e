package cores

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// allowed are the cores that the process may use. It is asked once: later a
// thread of the process may be bound to one.
var allowed = sync.OnceValue(func() (cpus []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(unix.Getpid(), &set) != nil {
		return nil
	}
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
})

// Take binds the calling goroutine to its thread, and the thread to the n-th of
// the cores that the process may use, until the goroutine ends; ok is false when
// there are not that many, or the system refuses.
func Take(n int) (ok bool) {
	cpus := allowed()
	if n >= len(cpus) {
		return false
	}
	// The thread ends with the goroutine, since it is never unlocked.
	runtime.LockOSThread()
	var one unix.CPUSet
	one.Set(cpus[n])
	return unix.SchedSetaffinity(0, &one) == nil
}
