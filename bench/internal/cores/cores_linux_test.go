package cores_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/weir-go/weir/bench/internal/cores"
)

func TestEachTakerHasAnotherCore(t *testing.T) {
	taken := map[unix.CPUSet]int{}
	for n := range runtime.NumCPU() {
		got := make(chan unix.CPUSet)
		go func() {
			var s unix.CPUSet
			if cores.Take(n) {
				_ = unix.SchedGetaffinity(0, &s)
			}
			got <- s
		}()
		s := <-got
		require.Equal(t, 1, s.Count())
		require.NotContains(t, taken, s, "taken twice")
		taken[s] = n
	}
	none := make(chan bool)
	go func() { none <- cores.Take(runtime.NumCPU()) }()
	require.False(t, <-none, "a core that there is not")
}
