package main

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/record"
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
	rows    map[rowKey]*row // what was due during the incident
	after   map[rowKey]*row // what was due in the last stretch of the aftermath
	samples []sample
	buckets []bucket
	late    int
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

// refusal is who refused, and how.
type refusal struct {
	Layer  string // "" when the shop itself did
	Status int
}

func (r refusal) String() string {
	if r.Layer == "" {
		return fmt.Sprintf("%d by the shop", r.Status)
	}
	return fmt.Sprintf("%d %s", r.Status, r.Layer)
}

// row counts one kind of request. Offered is the sum of all that follows.
type row struct {
	Offered  int
	Served   int
	Refused  map[refusal]int
	TimedOut int
	Failed   int
	Skipped  int
	// Latency is from when a request was due, of all that were not refused: a
	// refusal is quick and would flatter.
	Latency *record.Histogram
}

func (r *row) refused() (n int) {
	for _, c := range r.Refused {
		n += c
	}
	return n
}

// share is the served share of what was offered; 1 when nothing was.
func (r *row) share() float64 {
	if r == nil || r.Offered == 0 {
		return 1
	}
	return float64(r.Served) / float64(r.Offered)
}

func (r *row) add(e drive.Event) {
	r.Offered++
	if e.Skipped != drive.NotSkipped {
		r.Skipped++
		return
	}
	switch e.Result.End {
	case target.Served:
		r.Served++
	case target.Refused:
		r.Refused[refusal{e.Result.Layer, e.Result.Status}]++
		return
	case target.TimedOut:
		r.TimedOut++
	default:
		r.Failed++
	}
	r.Latency.Record(e.Response())
}

// bucketWidth is the resolution of what is drawn over time.
const bucketWidth = 250 * time.Millisecond

// bucket counts the requests that were due in one stretch of time, by class.
type bucket [engine.Critical + 1]struct{ Offered, Served, Limited, Shed int }

func newTake(a *act, half int, at times, last time.Duration) *take {
	return &take{
		act: a.name, half: a.halves[half], times: at, last: last,
		rows: map[rowKey]*row{}, after: map[rowKey]*row{},
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
	if e.Late() {
		t.late++
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

func addTo(rows map[rowKey]*row, e drive.Event) {
	k := rowKey{e.Request.Class, e.Request.Group}
	r := rows[k]
	if r == nil {
		r = &row{Refused: map[refusal]int{}, Latency: record.New()}
		rows[k] = r
	}
	r.add(e)
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
func (t *take) charges() *row { return t.rows[rowKey{class: engine.Critical}] }

// ordered returns the rows' keys, the most important class first.
func ordered(rows map[rowKey]*row) []rowKey {
	keys := make([]rowKey, 0, len(rows))
	for k := range rows {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b rowKey) int {
		return cmp.Or(-cmp.Compare(a.class, b.class), cmp.Compare(a.group, b.group))
	})
	return keys
}
