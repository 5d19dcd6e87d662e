//go:build explore

package explore

import (
	"fmt"
	"iter"
	"math/bits"

	"github.com/weir-go/weir/internal/atom"
)

// sched is the scheduler of one exploration. Threads are coroutines: exactly
// one of them, or the exploration itself, runs at any moment, so nothing here
// needs a lock.
type sched struct {
	sc      Scenario
	threads []*thread
	words   map[*uint64]*word // every word that a thread ever touched
	mem     uint64            // hash of the words' contents
	path    []node            // the current execution's decisions
	depth   int               // how many of them have been taken
	visited map[uint64]float64
	prune   bool
	quiet   bool // a check or the setup runs: operations are not scheduled
	abort   bool // threads are to unwind
	afresh  bool // a word turned out to be contended: all has to be explored again
	next    int  // the thread that the exploration resumes, -1: the execution is over
	cur     int  // the thread that runs
	trace   []string
	res     Result
}

type thread struct {
	resume  func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	pending atom.Kind
	on      *uint64
	seen    uint64 // hash of all that it has seen, and so of where it is
	alone   int    // operations on words that are not contended
	sums    uint64 // summaries given
	done    bool
}

// word is what is known of a word of the program.
type word struct {
	n       int    // its number, in the order of first use
	salt    uint64 // hash of n
	init    uint64
	knows   uint64 // of a lock: what its last holder knew
	users   uint8  // bit set of the threads that touch it
	written bool
	// contended: one thread writes it and another touches it, or Step may look at
	// it. Operations on all other words commute with whatever the other threads
	// do, so nobody needs to decide who goes first.
	contended bool
}

// node is a state on the current path with the threads that can move from it.
type node struct {
	key   uint64
	left  uint8 // bit set of the threads not yet tried; cur is one of them
	cur   uint8
	paths float64
}

type unwind struct{}

func newSched(sc Scenario) *sched {
	if len(sc.Threads) == 0 || len(sc.Threads) > 8 {
		panic("explore: a scenario has 1 to 8 threads")
	}
	if sc.MaxStates == 0 {
		sc.MaxStates = 20_000_000
	}
	s := &sched{sc: sc, words: map[*uint64]*word{}, visited: map[uint64]float64{}, prune: true}
	for _, body := range sc.Threads {
		t := &thread{}
		t.resume, t.stop = iter.Pull(func(yield func(struct{}) bool) {
			t.yield = yield
			for {
				s.runBody(body)
				t.done = true
				if !yield(struct{}{}) {
					return
				}
			}
		})
		s.threads = append(s.threads, t)
	}
	atom.SetHook(s)
	running = s
	return s
}

// running is the exploration of this process, if there is one.
var running *sched

func (s *sched) close() {
	atom.SetHook(nil)
	running = nil
	for _, t := range s.threads {
		t.stop()
	}
	s.restore()
}

// runBody runs a thread's code to its end, or until the execution is given up.
func (s *sched) runBody(body func()) {
	defer func() {
		switch p := recover(); p.(type) {
		case nil, unwind:
		default:
			s.fail(fmt.Errorf("%w: thread %d: %v", ErrPanic, s.cur, p))
		}
	}()
	body()
}

// restore puts every word back to its value before the exploration.
func (s *sched) restore() {
	for p, w := range s.words {
		*p = w.init
		w.knows = 0
	}
	s.mem = 0
}

// execute runs the program once: along the path as far as it goes, then always
// into states that are new.
func (s *sched) execute() {
	s.restore()
	s.depth, s.abort = 0, false
	if s.sc.Reset != nil {
		s.quiet = true
		s.sc.Reset()
		s.quiet = false
	}
	// Up to its first operation a thread touches nothing that others see.
	for i, t := range s.threads {
		t.done, t.seen, t.alone, t.sums = false, mix(uint64(i)+1), 0, 0
		s.next = -1
		s.cur = i
		t.on = nil
		t.resume()
		if s.abort {
			break
		}
	}
	s.next = s.choose()
	for s.next >= 0 {
		s.cur = s.next
		t := s.threads[s.cur]
		t.resume()
		if t.done && !s.abort {
			s.next = s.choose()
		}
	}
	s.abort = true
	for i, t := range s.threads {
		if !t.done {
			s.cur = i
			t.resume()
		}
	}
	s.res.Depth = max(s.res.Depth, s.depth)
}

// choose is called when every thread waits before an operation or has ended.
// It returns who moves, -1 if the execution is over.
func (s *sched) choose() int {
	if s.res.Err != nil || s.afresh {
		return -1
	}
	if s.depth < len(s.path) {
		s.depth++
		return int(s.path[s.depth-1].cur)
	}
	if s.sc.Step != nil {
		if err := s.check(s.sc.Step); err != nil {
			s.fail(err)
			return -1
		}
	}
	key := s.key()
	if s.prune {
		// No execution meets its own past: what threads have seen only grows.
		if paths, ok := s.visited[key]; ok {
			if s.depth > 0 {
				s.path[s.depth-1].paths += paths
			}
			return -1
		}
	}
	able, left := s.able()
	switch {
	case left == 0:
		if s.sc.Final != nil {
			if err := s.check(s.sc.Final); err != nil {
				s.fail(err)
				return -1
			}
		}
		s.visited[key] = 1
		if s.depth > 0 {
			s.path[s.depth-1].paths++
		} else {
			s.res.Paths++
		}
		return -1
	case able == 0:
		s.fail(ErrDeadlock)
		return -1
	case s.depth >= maxDepth:
		s.fail(ErrLivelock)
		return -1
	case len(s.visited) >= s.sc.MaxStates:
		s.fail(ErrStates)
		return -1
	case s.trace != nil:
		s.fail(nil) // a replay ends where its schedule does
		return -1
	}
	s.visited[key] = 0 // until all that follows is known
	// The thread that runs goes on first: that saves a switch here and in every
	// execution that passes this state again.
	first := uint8(s.cur)
	if able>>first&1 == 0 {
		first = uint8(bits.TrailingZeros8(able))
	}
	s.path = append(s.path, node{key: key, left: able, cur: first})
	s.depth++
	return int(first)
}

// able returns the threads that can move and the number of those not at their
// end.
func (s *sched) able() (set uint8, left int) {
	for i, t := range s.threads {
		if t.done {
			continue
		}
		left++
		if t.pending != atom.Lock || *t.on == 0 {
			set |= 1 << i
		}
	}
	return set, left
}

// backtrack turns the path to the next decision not yet tried.
func (s *sched) backtrack() bool {
	for len(s.path) > 0 {
		n := &s.path[len(s.path)-1]
		n.left &^= 1 << n.cur
		if n.left != 0 {
			n.cur = uint8(bits.TrailingZeros8(n.left))
			return true
		}
		s.visited[n.key] = n.paths
		paths := n.paths
		s.path = s.path[:len(s.path)-1]
		if len(s.path) > 0 {
			s.path[len(s.path)-1].paths += paths
		} else {
			s.res.Paths = paths
		}
	}
	return false
}

func (s *sched) fail(err error) {
	if s.res.Err != nil || err == nil {
		return
	}
	s.res.Err = err
	for _, n := range s.path[:s.depth] {
		s.res.Schedule = append(s.res.Schedule, n.cur)
	}
}

func (s *sched) check(f func() error) error {
	s.quiet = true
	defer func() { s.quiet = false }()
	return f()
}
