package drive

import (
	"fmt"

	"github.com/weir-go/weir/cmd/loadgen/internal/record"
	"github.com/weir-go/weir/cmd/loadgen/internal/target"
)

// Refusal is who refused, and how.
type Refusal struct {
	Layer  string // "" when the answer does not say: the service itself
	Status int
}

// String names the layer behind the status.
func (r Refusal) String() string {
	if r.Layer == "" {
		return fmt.Sprintf("%d by the service", r.Status)
	}
	return fmt.Sprintf("%d %s", r.Status, r.Layer)
}

// Counts sums up Events. Offered is Sent plus what was skipped, and Sent is
// the sum of the ends. It is for one goroutine.
type Counts struct {
	Offered, Sent int64
	AtCap, Behind int64 // skipped
	Late          int64
	Ends          [target.NumEnds]int64
	Refused       map[Refusal]int64
	Errors        map[string]int64 // failures by status or reason
	// Response counts from when a request was due, Service from when it was sent.
	// Both leave out refusals, which are quick and would flatter, and requests
	// whose end was not waited for.
	Response, Service *record.Histogram
}

// NewCounts returns empty counts.
func NewCounts() *Counts {
	return &Counts{Refused: map[Refusal]int64{}, Errors: map[string]int64{}, Response: record.New(), Service: record.New()}
}

// Add counts one event.
func (c *Counts) Add(e *Event) {
	c.Offered++
	switch e.Skipped {
	case AtCap:
		c.AtCap++
		return
	case Behind:
		c.Behind++
		return
	}
	c.Sent++
	if e.Late() {
		c.Late++
	}
	c.Ends[e.Result.End]++
	switch e.Result.End {
	case target.Refused:
		c.Refused[Refusal{e.Result.Layer, e.Result.Status}]++
		return
	case target.Stopped:
		return
	case target.Failed:
		why := e.Result.Err
		if why == "" {
			why = fmt.Sprintf("status %d", e.Result.Status)
		}
		c.Errors[why]++
	}
	c.Response.Record(e.Response())
	c.Service.Record(e.Service())
}

// Merge adds what o counted.
func (c *Counts) Merge(o *Counts) {
	c.Offered += o.Offered
	c.Sent += o.Sent
	c.AtCap += o.AtCap
	c.Behind += o.Behind
	c.Late += o.Late
	for i, n := range o.Ends {
		c.Ends[i] += n
	}
	for k, n := range o.Refused {
		c.Refused[k] += n
	}
	for k, n := range o.Errors {
		c.Errors[k] += n
	}
	c.Response.Merge(o.Response)
	c.Service.Merge(o.Service)
}

// Skipped is how many requests were never sent.
func (c *Counts) Skipped() int64 { return c.AtCap + c.Behind }

// Served is how many requests succeeded.
func (c *Counts) Served() int64 { return c.Ends[target.Served] }

// Share is the served share of what was offered; 1 when nothing was, and on
// nil.
func (c *Counts) Share() float64 {
	if c == nil || c.Offered == 0 {
		return 1
	}
	return float64(c.Served()) / float64(c.Offered)
}
