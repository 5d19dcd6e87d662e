package replay

import (
	"cmp"
	"slices"
	"time"
)

// Event is one request of a log.
type Event struct {
	At       time.Time
	Method   string // upper case
	Path     string // with its query; "" when the log has none
	User     string // whoever the log says it was, usually an address
	Status   int    // what it was answered; 0: unknown
	Cost     int64  // in units of a limit; 1 when the log has none
	Duration time.Duration
}

// Problems counts what a Reader met and passed over.
type Problems struct {
	Lines      int // that were read, empty ones apart
	Malformed  map[string]int
	First      map[string]int // the first line, from 1, of each kind of malformed ones
	Methods    map[string]int // unknown methods; such requests are kept
	OutOfOrder int            // events earlier than the one before; they are sorted in
	Backwards  time.Duration  // by how much at most
}

// MalformedTotal is how many lines were passed over.
func (p *Problems) MalformedTotal() (n int) {
	for _, c := range p.Malformed {
		n += c
	}
	return n
}

// inOrder sorts by time and counts what was not; events of one moment keep
// their order.
func inOrder(events []Event, p *Problems) {
	var latest time.Time
	for i, e := range events {
		if e.At.Before(latest) {
			p.OutOfOrder++
			p.Backwards = max(p.Backwards, latest.Sub(e.At))
		}
		if i == 0 || e.At.After(latest) {
			latest = e.At
		}
	}
	if p.OutOfOrder > 0 {
		slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At.UnixNano(), b.At.UnixNano()) })
	}
}

// known are the methods that count as such.
var known = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"}
