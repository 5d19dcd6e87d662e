package ladder

import (
	"sync"
	"time"
)

// Source is a signal with a name, for [Max].
type Source struct {
	Name string
	Read func() Reading
}

// Highest is several signals as one: the highest reading of those that have one.
type Highest struct {
	mu      sync.Mutex
	sources []Source
	stamps  []time.Time // of each one's last reading
	last    time.Time   // own last stamp
	driver  string
}

// Max combines signals that share a scale, on which 0.8 is where bad begins, by
// their highest.
func Max(sources ...Source) *Highest {
	return &Highest{sources: sources, stamps: make([]time.Time, len(sources))}
}

// Read reads every source. A source that has no reading, or the one it had
// before, does not count, so that one dead sensor neither opens the ladder nor
// holds it; without any source it is no reading. The stamp is the oldest that
// counts.
func (h *Highest) Read() Reading {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out Reading
	now := time.Now()
	for i, s := range h.sources {
		r := s.Read()
		if r.At.IsZero() {
			r.At = now
		}
		if !r.usable() || !r.At.After(h.stamps[i]) {
			continue
		}
		h.stamps[i] = r.At
		if !out.OK || r.Value > out.Value {
			out.Value, h.driver = r.Value, s.Name
		}
		if !out.OK || r.At.Before(out.At) {
			out.At = r.At
		}
		out.OK = true
	}
	if !out.OK {
		return Reading{}
	}
	// When a slower sensor comes in, the oldest stamp may lie before the last one;
	// the reading is new all the same.
	if !out.At.After(h.last) {
		out.At = h.last.Add(1)
	}
	h.last = out.At
	return out
}

// Driver is the name of the source that gave the last reading its value; ""
// before the first.
func (h *Highest) Driver() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.driver
}
