package workload

import (
	"bytes"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"
)

// Memory is what the process holds at one moment, in bytes.
type Memory struct {
	Heap     uint64 // live objects
	Resident uint64 // pages in memory; 0 where the system does not say
}

// MemoryNow collects garbage and reads the figures.
func MemoryNow() Memory {
	runtime.GC()
	runtime.GC() // the first may have been under way: the second is a whole one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Memory{Heap: m.HeapAlloc, Resident: resident()}
}

func resident() uint64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(data)
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * uint64(os.Getpagesize())
}

// Since is what was added since an earlier moment: the heap, or the resident
// memory where that grew by more, since memory that is not on the heap costs as
// much.
func (m Memory) Since(before Memory) uint64 {
	heap := m.Heap - min(before.Heap, m.Heap)
	return max(heap, m.Resident-min(before.Resident, m.Resident))
}

// CollectGarbage runs a full cycle and returns the processor time it took, over
// all cores, and its time on the wall.
func CollectGarbage() (cpu, wall time.Duration) {
	before, start := gcSeconds(), time.Now()
	runtime.GC()
	wall = time.Since(start)
	return time.Duration((gcSeconds() - before) * 1e9), wall
}

func gcSeconds() float64 {
	// Marking by workers that would otherwise idle counts too: on a busy machine
	// nobody idles.
	s := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64()
}
