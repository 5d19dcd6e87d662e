package bucket_test

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var sink uint64

func TestStepsAllocateNothing(t *testing.T) {
	for name, r := range everyKind(t) {
		require.Zero(t, testing.AllocsPerRun(1000, func() {
			at := r.At(1000)
			w := r.Fresh(0, at)
			w, _ = r.Take(w, at, 1)
			w = r.Undo(w, at, w, 1)
			w, _ = r.Charge(w, at, 1)
			sink += uint64(r.Wait(w, at, 1000, 5)) + uint64(r.Left(w, at))
			sink = r.Renew(w, at)
		}), name)
	}
}

// The steps of the two commonest kinds are part of the code that finds the word.
func TestCommonStepsAreInlined(t *testing.T) {
	if runtime.Compiler != "gc" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("asks the gc compiler, for 64 bits")
	}
	out, err := exec.Command("go", "build", "-gcflags=-m", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, f := range []string{"TokenAt", "TakeToken", "TakeFlight", "TakeHold", "LeftToken"} {
		require.True(t, strings.Contains(string(out), "can inline (*Rule)."+f+"\n"), f)
	}
}
