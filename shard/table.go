package shard

import (
	"math/bits"
	"unsafe"

	"github.com/weir-go/weir/internal/atom"
	"github.com/weir-go/weir/key"
)

const (
	// A slot is a tag and a word, 16 bytes: four are a cache line of 64, and a key
	// that lies at home costs one miss.
	slotsPerLine = 4
	// window is how many lines after its home a key may lie in. First fit over 16
	// lines overflows 4 in a million keys at 60 % fill; two candidate lines, 2 to
	// 7 % at 70 %.
	window = 16
	// reachBits are kept per line: how far the keys at home there have ever lain,
	// 0 to window-1. Of 16 lines they are one word, of 128 one cache line.
	reachBits    = 4
	reachPerWord = 64 / reachBits
	// maxShards is over how many mutexes births are spread: of sixteen cores that
	// all meet a new key, one finds its mutex free (63/64)^15, four times in five.
	// Known keys meet none.
	maxShards = 64
	// overflowSlots are the words per table id that keys without room share: of a
	// flood of keys, one meets an eighth. For all ids they are 32 KB.
	overflowSlots = 8
	// maxIDs is what the low byte of a tag tells apart; 0 is an empty slot.
	maxIDs = 256
)

// Slot is the place of one word: its tag says whose it is, and by which rule it
// counts.
type Slot struct{ tag, word atom.Uint64 }

// Line is a cache line of slots.
type Line struct{ slots [slotsPerLine]Slot }

// mutex has a cache line to itself, so that two shards' storms of new keys do
// not meet.
type mutex struct {
	atom.Mutex
	_ [64 - unsafe.Sizeof(atom.Mutex{})%64]byte
}

// wait returns once nobody holds the mutex that did when it was called.
func (m *mutex) wait() {
	m.Lock()
	defer m.Unlock()
}

// Table maps (key, table id) to words. All methods are safe for concurrent use
// but Sweep, which belongs to one goroutine.
type Table struct {
	lines []Line // the shards' lines, then the overflow words
	reach []atom.Uint64
	mus   []mutex

	shardShift uint   // H >> shardShift is the shard
	perShard   uint64 // lines in each
	all        uint64 // lines in all of them
	main       uint64 // slots before the overflow words
	clock      Clock

	ids   ids
	sweep sweep
}

// Clock is the time the table decides on when it has to be sure of it, in ns
// since the engine's epoch.
type Clock interface {
	Now() int64
	// Publish makes others see that it is now at least that late. It comes before
	// every write that a later time than theirs made possible.
	Publish(now int64)
}

// size returns how many shards of how many lines have room for entries states.
func size(entries int) (shards, per uint64) {
	lines := (uint64(entries)*10 + 6*slotsPerLine - 1) / (6 * slotsPerLine) // 60 % fill
	shards = 1
	for shards*2 <= min(maxShards, lines/64) {
		shards *= 2
	}
	// Shards do not share words of reach.
	per = (lines + shards - 1) / shards
	return shards, (per + reachPerWord - 1) / reachPerWord * reachPerWord
}

// Lines returns how many lines a whole sweep of a table with room for entries
// states visits.
func Lines(entries int) int {
	shards, per := size(entries)
	return int(shards*per) + maxIDs*overflowSlots/slotsPerLine
}

// New returns a table with room for entries states, 1 to 2^31.
func New(entries int, clock Clock) *Table {
	shards, per := size(entries)
	t := &Table{
		lines:      make([]Line, Lines(entries)),
		reach:      make([]atom.Uint64, per*shards/reachPerWord),
		mus:        make([]mutex, shards),
		shardShift: uint(64 - bits.Len64(shards) + 1),
		perShard:   per,
		all:        per * shards,
		main:       per * shards * slotsPerLine,
		clock:      clock,
	}
	t.ids.setSpan()
	return t
}

// Bytes returns the memory of the table.
func (t *Table) Bytes() int {
	return len(t.lines)*int(unsafe.Sizeof(Line{})) + len(t.reach)*8 + len(t.mus)*int(unsafe.Sizeof(mutex{}))
}

// lineOf returns the number of a key's home line.
func (t *Table) lineOf(h uint64) uint64 { return key.Line(h, t.all) }

// Homes returns the lines that keys are at home in, for a key.Hasher.
func (t *Table) Homes() key.Lines {
	return key.Lines{First: unsafe.Pointer(unsafe.SliceData(t.lines)), N: t.all}
}

// home returns the shard of a key, its first line and the key's line in it.
func (t *Table) home(h uint64) (shard, first, in uint64) {
	shard = h >> t.shardShift
	return shard, shard * t.perShard, t.lineOf(h) - shard*t.perShard
}

// TagOf returns the tag of a key of the limit with the table id.
func TagOf(h uint64, id uint8) uint64 { return h<<8 | uint64(id) }

func (t *Table) slot(i uint32) *Slot {
	return &t.lines[i/slotsPerLine].slots[i%slotsPerLine]
}

// overflow returns the slot that a key of the table id shares when it has no
// room of its own.
func (t *Table) overflow(h uint64, id uint8) uint32 {
	return uint32(t.main) + uint32(id)*overflowSlots + uint32(h%overflowSlots)
}
