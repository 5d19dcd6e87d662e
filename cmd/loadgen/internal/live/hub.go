package live

import (
	"encoding/json"
	"fmt"
	"sync"
)

// ringSize is how many samples a page that is opened late, or again, gets at
// once.
const ringSize = 600

// watcherBuffer is how far a watcher may lag; one that lags further is dropped
// and comes back by itself.
const watcherBuffer = 64

// frame is one server-sent event.
type frame struct {
	id    uint64 // of a sample, from 1; 0 for the state
	event string
	data  []byte
}

// Hub hands samples and the state to all who watch. Its methods are safe for
// concurrent use and never wait for a watcher. The zero value is ready.
type Hub struct {
	mu       sync.Mutex
	last     uint64
	ring     []frame
	state    frame
	watchers map[chan frame]struct{}
	closed   bool
}

// Sample publishes what was seen at one moment; v is fit for JSON.
func (h *Hub) Sample(v any) { h.publish("sample", v) }

// State publishes how the controls stand. A new watcher gets the last one
// first.
func (h *Hub) State(v any) { h.publish("state", v) }

func (h *Hub) publish(event string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("live: %s is not fit for JSON: %v", event, err))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	f := frame{event: event, data: data}
	if event == "sample" {
		h.last++
		f.id = h.last
		if len(h.ring) == ringSize {
			h.ring = append(h.ring[:0], h.ring[1:]...)
		}
		h.ring = append(h.ring, f)
	} else {
		h.state = f
	}
	for w := range h.watchers {
		select {
		case w <- f:
		default:
			h.drop(w)
		}
	}
}

// watch returns what a watcher that has seen the samples up to after missed,
// and a channel with what follows; it is closed when the watcher was too slow
// or the hub is closed.
func (h *Hub) watch(after uint64) (missed []frame, next chan frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.state.event != "" {
		missed = append(missed, h.state)
	}
	if after > h.last {
		after = 0 // of another run
	}
	for _, f := range h.ring {
		if f.id > after {
			missed = append(missed, f)
		}
	}
	next = make(chan frame, watcherBuffer)
	if h.closed {
		close(next)
		return missed, next
	}
	if h.watchers == nil {
		h.watchers = map[chan frame]struct{}{}
	}
	h.watchers[next] = struct{}{}
	return missed, next
}

func (h *Hub) unwatch(w chan frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.watchers[w]; ok {
		h.drop(w)
	}
}

// drop ends a watcher; h.mu is held.
func (h *Hub) drop(w chan frame) {
	delete(h.watchers, w)
	close(w)
}

// Close ends all watchers.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for w := range h.watchers {
		h.drop(w)
	}
}
