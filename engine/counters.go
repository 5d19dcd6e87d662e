package engine

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Counters are plain atomics, striped so that goroutines on different cores
// rarely meet on a cache line; Snapshot sums them.

// stripes returns how many stripes to keep: a power of two.
func stripes() int {
	return 1 << bits.Len(uint(min(max(2*runtime.GOMAXPROCS(0), 4), 64)-1))
}

// stripe picks a stripe by where the caller's stack lies: goroutines that run
// at the same moment have different stacks.
func stripe(mask uint32) uint32 {
	var here byte
	return uint32(uintptr(unsafe.Pointer(&here))>>11) & mask
}

// tally counts what belongs to no limit.
type tally struct {
	admitted     [numClasses]atomic.Uint64
	unclassified atomic.Uint64
	_            [64 - (numClasses+1)*8]byte

	gate, gateWould     [numClasses]atomic.Uint64
	ladder, ladderWould [numClasses]atomic.Uint64
	_                   [64 - (4*numClasses*8)%64]byte
}

// limitTally counts what belongs to one limit.
type limitTally struct {
	refused, would [numClasses][numReasons]atomic.Uint64
	overflow       atomic.Uint64
	_              [64 - (2*numClasses*numReasons*8+8)%64]byte
}

func (e *Engine) tally() *tally { return &e.tallies[stripe(e.stripeMask)] }

func (c *control) tally(mask uint32) *limitTally { return &c.tallies[stripe(mask)] }

// misuse counts broken contracts: rare, so not striped.
type misuse struct {
	negative, tooMany, unknown, twice, doubleDone, settle, faults atomic.Uint64
}
