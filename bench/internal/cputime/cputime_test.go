package cputime_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bench/internal/cputime"
)

func TestTimeRunsWhileTheProcessorIsHadOnly(t *testing.T) {
	start, ok := cputime.Now()
	if !ok {
		t.Skip("not known on this system")
	}
	wall := time.Now()
	x := uint64(1)
	for end := start; end-start < 20*time.Millisecond; end, _ = cputime.Now() {
		for range 10000 {
			x = x*6364136223846793005 + 1
		}
	}
	require.NotZero(t, x)
	require.GreaterOrEqual(t, time.Since(wall), 15*time.Millisecond, "one goroutine can't have had more of it than there was")
}
