package engine

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/weir-go/weir/gate"
)

// Counters are plain atomics, striped so that goroutines on different cores
// rarely meet on a cache line; Snapshot sums them.

// lane is what every admitted request writes, on its way in and on its way out.
type lane struct {
	admitted     [classes]atomic.Uint64 // by class, from Test on
	unclassified atomic.Uint64
	places       gate.Stripe
	idle         atomic.Uint64 // records: [how often one was left 32 | number of the topmost, plus one 32]
	_            [64 - int(classes+2)*8 - int(unsafe.Sizeof(gate.Stripe{}))]byte
}

// classes is how many classes a request can be decided in.
const classes = Class(numClasses - 1)

// lane returns the lane i, below lanes: there is no need to check it.
func (e *Engine) lane(i uint8) *lane {
	return (*lane)(unsafe.Add(unsafe.Pointer(e.lanes), uintptr(i)*unsafe.Sizeof(lane{})))
}

// lanes is how many lanes there are: enough for two cores to be in the same one
// seldom, few enough for the cache of a core that visits them all.
const lanes = 1 << 6

// tallies returns how many stripes to keep of counters that are written less: a
// power of two.
func tallies() int {
	return 1 << bits.Len(uint(min(max(2*runtime.GOMAXPROCS(0), 4), lanes)-1))
}

// here picks a lane by where the caller's stack lies: goroutines that run at the
// same moment have different stacks. Equally deep in two large stacks the last
// bits of an address are alike, so all of it counts.
func here() uint8 {
	var here byte
	return laneOf(unsafe.Pointer(&here))
}

// laneOf picks a lane, below lanes, by an address on the caller's stack.
func laneOf(p unsafe.Pointer) uint8 {
	return uint8(uint64(uintptr(p)>>11) * 0x9e3779b97f4a7c15 >> 58)
}

// tally counts what layers 3 and 4 refuse.
type tally struct {
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

func (e *Engine) tally() *tally { return &e.tallies[int(here())&(len(e.tallies)-1)] }

func (c *control) tally() *limitTally { return &c.tallies[int(here())&(len(c.tallies)-1)] }

// misuse counts broken contracts: rare, so not striped.
type misuse struct {
	negative, tooMany, unknown, twice, doubleDone, settle, faults atomic.Uint64
}
