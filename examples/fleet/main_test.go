package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// The example starts three instances and a server, and keeps to the limit.
func TestTheExampleRuns(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		require.NotEqual(t, "must", os.Getenv("WEIR_REDIS"), "redis-server is not installed")
		t.Skip("redis-server is not installed: apt-get install redis-server")
	}
	program := filepath.Join(t.TempDir(), "fleet")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(program, "-for", "5s").Output()
	require.NoError(t, err)
	t.Logf("%s", out)
	seconds := regexp.MustCompile(`(?m)^ *\d+ s  admitted +(\d+).*$`).FindAllStringSubmatch(string(out), -1)
	require.Len(t, seconds, 5)
	require.Contains(t, seconds[4][0], "share")
	total := 0
	for _, s := range seconds {
		n, err := strconv.Atoi(s[1])
		require.NoError(t, err)
		total += n
	}
	require.Positive(t, total)
	require.LessOrEqual(t, total, 5*perSecond+3*perSecond/3+perSecond)
}
