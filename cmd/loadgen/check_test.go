package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// check runs the verb on a policy file with the given text.
func check(t *testing.T, text string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"check", path}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

const checkedPolicy = `limits:
  login:
    routes: [POST /login]
    key: [extract name | fold]
    rate: 10/min
  login-net: {routes: [POST /login], key: address, kind: sliding, rate: 20/h}
...
`

// "10 per minute" is more than 10 in some minutes; the words must say so.
func TestCheckSaysTheWorstCasePerWindow(t *testing.T) {
	code, out, errs := check(t, checkedPolicy)
	require.Equal(t, exitOK, code, errs)
	require.Contains(t, out, "token bucket: 10 per min, bursts of 10\n      worst case: 20 in any min")
	require.Contains(t, out, "sliding window: 20 per h\n      worst case: 20 in any h")
	require.Empty(t, errs)
}

func TestCheckOfARouteSaysWhatItMeets(t *testing.T) {
	code, out, _ := check(t, checkedPolicy, "-route", "POST /login")
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "login-net:")
	_, out, _ = check(t, checkedPolicy, "-route", "GET /login")
	require.Contains(t, out, "no limit")
}

func TestCheckNamesEveryFaultWithItsLine(t *testing.T) {
	code, out, errs := check(t, "limits:\n  login:\n    key: address\n    rate: 5x\n    brust: 5\n")
	require.Equal(t, exitFail, code)
	require.Empty(t, out)
	require.Contains(t, errs, `policy.yaml:4:11: limits.login.rate "5x": is no rate;`)
	require.Contains(t, errs, "policy.yaml:5:5: limits.login.brust: is no field; did you mean burst?")
	require.Contains(t, errs, `policy.yaml:6:1: does not end with "..."`)
}

func TestCheckWithoutAFileIsAUsageError(t *testing.T) {
	var out, errs bytes.Buffer
	require.Equal(t, exitUsage, run(t.Context(), []string{"check"}, &out, &errs))
	require.Equal(t, exitFail, run(t.Context(), []string{"check", filepath.Join(t.TempDir(), "none.yaml")}, &out, &errs))
	require.Contains(t, errs.String(), "none.yaml: no such file")
	code, _, _ := check(t, checkedPolicy, "-route", "/login")
	require.Equal(t, exitUsage, code)
}

// The examples say what they mean, and nothing about them looks like a mistake;
// that a campaign is over is for the calendar to say.
func TestCheckFindsNothingAgainstTheExamples(t *testing.T) {
	files, err := filepath.Glob("../../examples/*/policy.yaml")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 4)
	for _, f := range files {
		var out, errs bytes.Buffer
		require.Equal(t, exitOK, run(t.Context(), []string{"check", f}, &out, &errs), errs.String())
		for line := range strings.Lines(out.String()) {
			require.False(t, strings.HasPrefix(line, "warning:") && !strings.Contains(line, "has expired"), "%s: %s", f, line)
		}
	}
}
