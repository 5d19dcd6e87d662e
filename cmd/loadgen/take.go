package main

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
	"github.com/weir-go/weir/engine"
)

// take is what was seen of one half of an act. Its methods are safe for
// concurrent use; its fields are read when the performance is over.
type take struct {
	act      string
	half     half
	times    times
	last     time.Duration // when the half ends
	snapshot engine.Snapshot

	mu      sync.Mutex
	rows    map[rowKey]*drive.Counts // what was due during the incident
	after   map[rowKey]*drive.Counts // what was due in the last stretch of the aftermath
	samples []sample
	buckets []bucket
}

// rowKey names a row of the table.
type rowKey struct {
	class engine.Class
	group string
}

func (k rowKey) String() string {
	if k.group != "" {
		return k.group
	}
	return k.class.String()
}

// bucketWidth is the resolution of what is drawn over time.
const bucketWidth = 250 * time.Millisecond

// bucket counts the requests that were due in one stretch of time, by class.
type bucket [engine.Critical + 1]struct{ Offered, Served, Limited, Shed int }

func newTake(a *act, half int, at times, last time.Duration) *take {
	return &take{
		act: a.name, half: a.halves[half], times: at, last: last,
		rows: map[rowKey]*drive.Counts{}, after: map[rowKey]*drive.Counts{},
		buckets: make([]bucket, int((last+bucketWidth-1)/bucketWidth)),
	}
}

// aftermath is the last stretch of a half in which everything has to be
// admitted again.
const aftermath = time.Second

func (t *take) add(e drive.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	due := e.Request.Due
	if due >= t.times.begin && due < t.times.end {
		addTo(t.rows, e)
	}
	if due >= max(t.times.end, t.last-aftermath) {
		addTo(t.after, e)
	}
	b := &t.buckets[int(due/bucketWidth)][e.Request.Class]
	b.Offered++
	switch {
	case e.Skipped != drive.NotSkipped:
	case e.Result.End == target.Served:
		b.Served++
	case e.Result.End == target.Refused && e.Result.Status == 429:
		b.Limited++
	case e.Result.End == target.Refused:
		b.Shed++
	}
}

func addTo(rows map[rowKey]*drive.Counts, e drive.Event) {
	k := rowKey{e.Request.Class, e.Request.Group}
	r := rows[k]
	if r == nil {
		r = drive.NewCounts()
		rows[k] = r
	}
	r.Add(&e)
}

func (t *take) sample(s sample) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.samples = append(t.samples, s)
}

// latest is the newest sample.
func (t *take) latest() (s sample) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.samples); n > 0 {
		s = t.samples[n-1]
	}
	return s
}

// charges is the row that the story is about.
func (t *take) charges() *drive.Counts { return t.rows[rowKey{class: engine.Critical}] }

// ordered returns the rows' keys, the most important class first.
func ordered(rows map[rowKey]*drive.Counts) []rowKey {
	keys := make([]rowKey, 0, len(rows))
	for k := range rows {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b rowKey) int {
		return cmp.Or(-cmp.Compare(a.class, b.class), cmp.Compare(a.group, b.group))
	})
	return keys
}
