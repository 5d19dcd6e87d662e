package plant

// heap is a binary heap of things that happen at a time. container/heap would
// box every one of a million of them.
type heap[T timed] struct{ items []T }

type timed interface{ when() float64 }

func (h *heap[T]) push(v T) {
	h.items = append(h.items, v)
	i := len(h.items) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h.items[up].when() <= v.when() {
			break
		}
		h.items[i] = h.items[up]
		i = up
	}
	h.items[i] = v
}

func (h *heap[T]) pop() T {
	top := h.items[0]
	last := len(h.items) - 1
	v := h.items[last]
	h.items = h.items[:last]
	i := 0
	for {
		down := 2*i + 1
		if down >= last {
			break
		}
		if down+1 < last && h.items[down+1].when() < h.items[down].when() {
			down++
		}
		if v.when() <= h.items[down].when() {
			break
		}
		h.items[i] = h.items[down]
		i = down
	}
	if last > 0 {
		h.items[i] = v
	}
	return top
}
