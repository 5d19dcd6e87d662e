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
	last     time.Duration // when the half ends, at the latest
	snapshot engine.Snapshot

	mu      sync.Mutex
	rows    map[rowKey]*drive.Counts // what was due during the incident
	tail    []drive.Event            // what was due after it, in the order in which it ended
	open    time.Duration            // since when the ladder has been at 0 after the incident; 0: it is not
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
		rows:    map[rowKey]*drive.Counts{},
		buckets: make([]bucket, int((last+bucketWidth-1)/bucketWidth)),
	}
}

// aftermath is for how long, in the end, everything has to be admitted again.
const aftermath = time.Second

// over reports whether a half with an aftermath may end with the request that is
// due now: the ladder has been open for long enough.
func (t *take) over(due time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open > 0 && due >= t.open+aftermath
}

// after counts what was due in the last stretch of the aftermath.
func (t *take) after() map[rowKey]*drive.Counts {
	rows, end := map[rowKey]*drive.Counts{}, time.Duration(0)
	for _, e := range t.tail {
		end = max(end, e.Request.Due)
	}
	for _, e := range t.tail {
		if e.Request.Due > end-aftermath {
			addTo(rows, e)
		}
	}
	return rows
}

func (t *take) add(e drive.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	due := e.Request.Due
	if due >= t.times.begin && due < t.times.end {
		addTo(t.rows, e)
	}
	if due >= t.times.end {
		t.tail = append(t.tail, e)
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
	switch {
	case s.At < t.times.end || s.Level > 0:
		t.open = 0
	case t.open == 0:
		t.open = s.At
	}
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
