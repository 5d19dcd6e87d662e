//go:build explore

package explore

import (
	"errors"
	"fmt"
	"time"
)

// Scenario is a small concurrent program and what must hold of it.
type Scenario struct {
	// Threads run concurrently, at most 8. They are run many times over: all
	// that they leave behind in words and locks of internal/atom is put back
	// before each execution, everything else is Reset's work.
	Threads []func()
	// Reset puts back what is neither a word nor a lock, such as the variables
	// that the threads leave their results in. nil: there is nothing.
	Reset func()
	// Step is checked in every state, while threads are in the middle of their
	// work. It may read words, but must not write any. nil: nothing to check.
	Step func() error
	// Final is checked when all threads have ended. It may call anything that
	// takes no lock a thread has left behind, and change what it likes.
	Final func() error
	// MaxStates ends the exploration with an error; 0 is 20 million.
	MaxStates int
	// LocksGuardWords says that locks guard nothing but words. Otherwise a thread
	// that takes a lock is taken to see all that its last holder knew, which is
	// exact for any data but tells more states apart.
	LocksGuardWords bool
}

// Summary, called by a thread, says that all that the thread does from here on
// depends on these values and on nothing else that it has seen. It is how a
// thread that ends one call and begins another forgets how it got there; many
// states become one. A summary that leaves out what matters loses schedules.
func Summary(values ...uint64) {
	s := running
	if s == nil || s.quiet {
		return
	}
	t := s.threads[s.cur]
	t.sums++
	t.seen = mix(uint64(s.cur)<<32 + t.sums)
	for _, v := range values {
		t.seen = mix(t.seen + v)
	}
}

// How many operations an execution may have: far more than in any scenario
// worth exploring, so reaching it means that threads spin.
const (
	maxDepth = 2000    // on contended words
	maxAlone = 100_000 // of one thread, on others
)

// Schedule is the threads that move, move by move: what it takes to run an
// execution again with [Replay].
type Schedule []uint8

// String is the schedule in runs, such as "0×4 1×2 0".
func (s Schedule) String() string {
	out := ""
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] == s[i] {
			j++
		}
		if out != "" {
			out += " "
		}
		out += fmt.Sprintf("%d×%d", s[i], j-i)
		i = j
	}
	return out
}

// Result is what an exploration found.
type Result struct {
	States     int     // distinct states, apart from who is in the middle of what nobody else touches
	Executions int     // runs of the program, most of them cut short
	Paths      float64 // interleavings from start to end that the states stand for
	Depth      int     // operations of the longest execution
	Took       time.Duration
	// Err is the first violation, nil if there is none. Schedule leads to it.
	Err      error
	Schedule Schedule

	words map[*uint64]*word
}

// String is the result in one line.
func (r Result) String() string {
	s := fmt.Sprintf("%d states, %.4g interleavings, longest %d operations, %d executions, %v",
		r.States, r.Paths, r.Depth, r.Executions, r.Took.Round(time.Millisecond))
	if r.Err != nil {
		s += fmt.Sprintf("; VIOLATION: %v; schedule %v", r.Err, r.Schedule)
	}
	return s
}

// The ways in which a program fails by itself.
var (
	// ErrDeadlock: threads are left and none can move.
	ErrDeadlock = errors.New("explore: deadlock")
	// ErrLivelock: an execution does not end.
	ErrLivelock = errors.New("explore: threads spin")
	// ErrStates: there are more states than the scenario allows.
	ErrStates = errors.New("explore: too many states")
	// ErrPanic: a thread panicked.
	ErrPanic = errors.New("explore: panic")
)

// Run explores the scenario until all interleavings are covered or one of them
// violates it. One exploration runs at a time in a process.
func Run(sc Scenario) Result { return run(sc, true) }

func run(sc Scenario, prune bool) Result {
	s := newSched(sc)
	s.prune = prune
	defer s.close()
	start := time.Now()
	for {
		s.res.Executions++
		s.execute()
		if s.afresh && s.res.Err == nil {
			s.afresh = false
			s.path = nil
			clear(s.visited)
			s.res.Paths, s.res.Executions = 0, 0
			continue
		}
		if s.res.Err != nil || !s.backtrack() {
			break
		}
	}
	s.res.States = len(s.visited)
	s.res.Took = time.Since(start)
	s.res.words = s.words
	return s.res
}

// Replay executes the scenario once along the result's schedule and returns
// what happened, operation by operation, and the violation at its end.
func Replay(sc Scenario, r Result) ([]string, error) {
	s := newSched(sc)
	defer s.close()
	s.words, s.trace = r.words, []string{}
	for _, t := range r.Schedule {
		s.path = append(s.path, node{cur: t})
	}
	s.execute()
	return s.trace, s.res.Err
}
