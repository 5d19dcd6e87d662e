package weirhttp

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetryAfterIsWholeAndNeverShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                             "1",
		1:                             "1",
		time.Second:                   "1",
		time.Second + 1:               "2",
		60 * time.Second:              "60",
		60*time.Second + 1:            "61",
		1e6*time.Second + 1:           "1000001",
		time.Duration(math.MaxInt64):  "9223372037",
		time.Duration(999_999_999_99): "100",
	} {
		require.Equal(t, []string{want}, retryAfter(d), d)
	}
}
