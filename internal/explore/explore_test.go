//go:build explore

package explore

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/internal/atom"
)

// increment is a read, a pause in which others may run, and a write.
func increment(w *atom.Uint64) func() { return func() { w.Store(w.Load() + 1) } }

func incrementCAS(w *atom.Uint64) func() {
	return func() {
		for {
			v := w.Load()
			if w.CompareAndSwap(v, v+1) {
				return
			}
		}
	}
}

func wants(w *atom.Uint64, want uint64) func() error {
	return func() error {
		if got := w.Load(); got != want {
			return fmt.Errorf("%d instead of %d", got, want)
		}
		return nil
	}
}

func TestALostUpdateIsFoundAndReplays(t *testing.T) {
	var w atom.Uint64
	sc := Scenario{Threads: []func(){increment(&w), increment(&w)}, Final: wants(&w, 2)}
	r := Run(sc)
	require.EqualError(t, r.Err, "1 instead of 2")
	trace, err := Replay(sc, r)
	require.EqualError(t, err, "1 instead of 2")
	require.Len(t, trace, 4)
	require.Zero(t, w.Load(), "the word is put back")
}

func TestACorrectCASLoopPasses(t *testing.T) {
	var w atom.Uint64
	inc := incrementCAS(&w)
	r := Run(Scenario{Threads: []func(){inc, inc, inc}, Final: wants(&w, 3)})
	require.NoError(t, r.Err)
	t.Log(r)
}

func TestEveryInterleavingIsCounted(t *testing.T) {
	for _, tc := range []struct {
		ops  []int
		want float64 // multinomial
	}{
		{[]int{1}, 1},
		{[]int{2, 2}, 6},
		{[]int{3, 2}, 10},
		{[]int{2, 2, 2}, 90},
		{[]int{4, 3, 2}, 1260},
	} {
		for _, prune := range []bool{true, false} {
			var w atom.Uint64
			var threads []func()
			for _, n := range tc.ops {
				threads = append(threads, func() {
					for range n {
						w.Add(1)
					}
				})
			}
			r := run(Scenario{Threads: threads}, prune)
			require.NoError(t, r.Err)
			require.Equal(t, tc.want, r.Paths, "%v prune %v", tc.ops, prune)
			if !prune {
				require.Equal(t, tc.want, float64(r.Executions))
			}
		}
	}
}

// Pruning must not lose outcomes: for random small programs the set of final
// results is the same with and without it.
func TestPruningLosesNoOutcome(t *testing.T) {
	for seed := range uint64(300) {
		var w [2]atom.Uint64
		var mu atom.Mutex
		plain := 0 // guarded by mu
		var got [3]uint64
		rnd := mix(seed + 1)
		next := func(n uint64) uint64 { rnd = mix(rnd + 1); return rnd % n }
		var threads []func()
		for i := range 2 + next(2) {
			var prog []uint64
			for range 2 + next(2) {
				prog = append(prog, next(48))
			}
			threads = append(threads, func() {
				acc := uint64(0)
				for _, op := range prog {
					x := &w[op/6%2]
					switch op % 6 {
					case 0:
						acc = acc*3 + x.Load()
					case 1:
						x.Store(acc + op)
					case 2:
						if x.CompareAndSwap(0, op) {
							acc++
						}
					case 3:
						acc = acc*5 + x.Add(i+1)
					case 4:
						mu.Lock()
						plain = plain*3 + int(i) + 1
						mu.Unlock()
					case 5:
						mu.Lock()
						acc = acc*7 + uint64(plain)
						mu.Unlock()
					}
				}
				got[i] = acc
			})
		}
		outcomes := func(prune bool) map[string]bool {
			set := map[string]bool{}
			r := run(Scenario{
				Threads: threads,
				Reset:   func() { plain, got = 0, [3]uint64{} },
				Final: func() error {
					set[fmt.Sprint(w[0].Load(), w[1].Load(), plain, got)] = true
					return nil
				},
			}, prune)
			require.NoError(t, r.Err)
			return set
		}
		require.Equal(t, outcomes(false), outcomes(true), "seed %d", seed)
	}
}

// A stack of two nodes whose pop reads next before its CAS: while it waits,
// the top is taken, the other node too, and the top put back.
func TestABAIsFound(t *testing.T) {
	const none = 9
	var head atom.Uint64
	var next [2]atom.Uint64
	head.Store(0)
	next[0].Store(1)
	next[1].Store(none)
	var took [2][]uint64
	pop := func() uint64 {
		for {
			h := head.Load()
			if h == none {
				return none
			}
			n := next[h].Load()
			if head.CompareAndSwap(h, n) {
				return h
			}
		}
	}
	push := func(n uint64) {
		for {
			h := head.Load()
			next[n].Store(h)
			if head.CompareAndSwap(h, n) {
				return
			}
		}
	}
	sc := Scenario{
		Reset: func() { took = [2][]uint64{} },
		Threads: []func(){
			func() { took[0] = append(took[0], pop()) },
			func() {
				a := pop()
				b := pop()
				if a != none {
					push(a)
				}
				took[1] = append(took[1], b)
			},
		},
		Final: func() error {
			seen := map[uint64]bool{}
			for _, n := range append(append([]uint64{}, took[0]...), took[1]...) {
				if n != none && seen[n] {
					return errors.New("a node was taken twice")
				}
				seen[n] = true
			}
			for h := head.Load(); h != none; h = next[h].Load() {
				if seen[h] {
					return errors.New("a node was taken and is still there")
				}
			}
			return nil
		},
	}
	require.Error(t, Run(sc).Err)
}

func TestDeadlockIsFound(t *testing.T) {
	var a, b atom.Mutex
	both := func(x, y *atom.Mutex) func() {
		return func() {
			x.Lock()
			defer x.Unlock()
			y.Lock()
			defer y.Unlock()
		}
	}
	require.ErrorIs(t, Run(Scenario{Threads: []func(){both(&a, &b), both(&b, &a)}}).Err, ErrDeadlock)
	require.NoError(t, Run(Scenario{Threads: []func(){both(&a, &b), both(&a, &b)}}).Err)
}

func TestALockExcludes(t *testing.T) {
	var mu atom.Mutex
	n, tried := 0, [3]bool{}
	guarded := func(i int) func() {
		return func() {
			mu.Lock()
			n++
			mu.Unlock()
			if tried[i] = mu.TryLock(); tried[i] {
				mu.Unlock()
			}
		}
	}
	missed := false
	r := Run(Scenario{
		Threads: []func(){guarded(0), guarded(1), guarded(2)},
		Reset:   func() { n = 0 },
		Final: func() error {
			missed = missed || !tried[0]
			if n != 3 {
				return fmt.Errorf("%d", n)
			}
			return nil
		},
	})
	require.NoError(t, r.Err)
	require.True(t, missed, "TryLock can meet a held lock")
}

func TestSpinningIsFound(t *testing.T) {
	var w atom.Uint64
	r := Run(Scenario{Threads: []func(){func() {
		for w.Load() == 0 {
		}
	}}})
	require.ErrorIs(t, r.Err, ErrLivelock)
}

func TestAPanicIsFoundWithItsSchedule(t *testing.T) {
	var w atom.Uint64
	sc := Scenario{Threads: []func(){
		func() { w.Store(1); w.Store(0) },
		func() {
			if w.Load() == 1 {
				panic("seen half done")
			}
		},
	}}
	r := Run(sc)
	require.ErrorIs(t, r.Err, ErrPanic)
	require.ErrorContains(t, r.Err, "thread 1: seen half done")
	_, err := Replay(sc, r)
	require.ErrorIs(t, err, ErrPanic)
}

func TestAStepViolationIsFoundInTheMiddle(t *testing.T) {
	var a, b atom.Uint64
	move := func() { a.Store(1); b.Store(1); a.Store(0) }
	r := Run(Scenario{
		Threads: []func(){move, func() { b.Load() }},
		Step: func() error {
			if a.Load()+b.Load() == 2 {
				return errors.New("both")
			}
			return nil
		},
		Final: wants(&b, 1),
	})
	require.EqualError(t, r.Err, "both")
}

// What only one thread touches, or nobody writes, takes no decision.
func TestOnlyContendedWordsAreDecidedOn(t *testing.T) {
	var own [2]atom.Uint64
	var constant, shared atom.Uint64
	var mu [2]atom.Mutex
	constant.Store(7)
	thread := func(i int) func() {
		return func() {
			for range 5 {
				mu[i].Lock()
				own[i].Add(constant.Load())
				mu[i].Unlock()
			}
			shared.Add(own[i].Load())
		}
	}
	r := Run(Scenario{Threads: []func(){thread(0), thread(1)}, Final: wants(&shared, 70)})
	require.NoError(t, r.Err)
	require.EqualValues(t, 2, r.Paths)
}

// A summary makes one state of several, and loses no outcome when it is whole.
func TestASummaryForgets(t *testing.T) {
	var w, sum atom.Uint64
	for _, whole := range []bool{true, false} {
		outcomes := map[uint64]bool{}
		visit := func(forget bool) Result {
			clear(outcomes)
			return Run(Scenario{
				Threads: []func(){
					func() {
						n := 0
						for range 3 {
							if w.Load() == 1 {
								n++
							}
						}
						odd := uint64(n % 2)
						if forget && whole {
							Summary(odd)
						} else if forget {
							Summary()
						}
						sum.Add(odd + 1)
						sum.Add(odd + 1)
					},
					func() { w.Store(1); sum.Add(10); w.Store(0) },
				},
				Final: func() error { outcomes[sum.Load()] = true; return nil },
			})
		}
		all := visit(false)
		want := len(outcomes)
		r := visit(true)
		require.NoError(t, r.Err)
		require.Less(t, r.States, all.States)
		require.Equal(t, whole, len(outcomes) == want)
	}
}

func TestStatesAreBounded(t *testing.T) {
	var w atom.Uint64
	inc := incrementCAS(&w)
	require.ErrorIs(t, Run(Scenario{Threads: []func(){inc, inc, inc}, MaxStates: 20}).Err, ErrStates)
}

// Without a scheduler the types are ordinary atomics and locks.
func TestWithoutASchedulerNothingIsLost(t *testing.T) {
	var w atom.Uint64
	var mu atom.Mutex
	n := 0
	done := make(chan bool)
	for range 4 {
		go func() {
			for range 1000 {
				w.Add(1)
				mu.Lock()
				n++
				mu.Unlock()
			}
			done <- true
		}()
	}
	for range 4 {
		<-done
	}
	require.EqualValues(t, 4000, w.Load())
	require.Equal(t, 4000, n)
}
