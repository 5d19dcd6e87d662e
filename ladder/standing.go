package ladder

import (
	"sync"
	"time"
)

// Standing is the signal of a worker pool: the mean share of busy workers plus
// the standing queue, which is the shortest queue seen, per worker. A burst that
// is worked off in between leaves no standing queue; an overload does, so the
// signal keeps rising above 1 and trips the ladder in 5 s instead of 13 s.
//
// Feed it with Sample about every 100 ms and read it once a tick. The zero value
// is ready; its methods are safe for concurrent use.
type Standing struct {
	mu      sync.Mutex
	samples int
	busy    float64 // sum of the shares
	queue   float64 // the least, per live worker
	at      time.Time
}

// Sample takes the pool's state at a moment: how many workers are busy, how many
// requests wait and how many workers there are. Busy beyond live counts as
// waiting, so the requests in flight do for busy where there is no queue to look
// at. live must follow the capacity that is really there: with the nominal one a
// half-dead pool at its limit reads 0.5. A sample with live 0 or less, or any
// negative figure, is none.
func (s *Standing) Sample(busy, queued, live int, at time.Time) {
	if live <= 0 || busy < 0 || queued < 0 {
		return
	}
	share := float64(min(busy, live)) / float64(live)
	queue := (float64(queued) + float64(max(0, busy-live))) / float64(live)

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.samples == 0 || queue < s.queue {
		s.queue = queue
	}
	s.samples++
	s.busy += share
	s.at = at
}

// Read returns the signal over the samples since the last Read, stamped with the
// time of the newest; without any it is no reading.
func (s *Standing) Read() Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.samples == 0 {
		return Reading{}
	}
	r := Reading{Value: s.busy/float64(s.samples) + s.queue, At: s.at, OK: true}
	s.samples, s.busy = 0, 0
	return r
}
