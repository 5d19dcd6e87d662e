package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func accessLog(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "10.0.0.%d - - [17/May/2015:10:05:%02d +0000] \"GET /a HTTP/1.1\" 200 1\n", i%4, i/10)
	}
	for range 30 {
		b.WriteString("10.0.0.9 - - [17/May/2015:10:06:00 +0000] \"POST /pay HTTP/1.1\" 200 1\n")
	}
	b.WriteString("rubbish\n")
	file := filepath.Join(t.TempDir(), "access.log")
	require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o644))
	return file
}

func TestReplayWorksWithoutAPolicy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out.json")
	code, out, stderr := loadgen(t.Context(), "replay", "-log", accessLog(t), "-rate", "1/s", "-burst", "20", "-suggest", "100%", "-json", file)
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, out, "1 of 131 lines were passed over")
	require.Contains(t, out, "refused: 10 of 130 requests")
	require.Contains(t, out, "decisions a second")
	require.Regexp(t, `10\.0\.0\.9\s+30\s+10\s+33\.3 %`, out)
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	var f replayFigures
	require.NoError(t, json.Unmarshal(b, &f))
	require.Equal(t, 10, f.Refused)
	require.Len(t, f.Thresholds, 4)
	require.Greater(t, f.Thresholds[0].Refused, 20, "half the limit refuses 10 more of the one user, and some of the others'")
	require.Equal(t, 10, f.Thresholds[1].Refused)
	require.Zero(t, f.Thresholds[2].Refused)
	require.EqualValues(t, 30, f.Suggest[0].Best)
	require.NotEmpty(t, f.Report.Sections)
}

func TestReplayRefusesNonsense(t *testing.T) {
	log := accessLog(t)
	for _, c := range []struct{ args, want string }{
		{"", "-log: missing"},
		{"-log x -format xml", "format \"xml\""},
		{"-log x -columns who=me", "columns \"who=me\""},
		{"-log x -rate 0/s", "-rate"},
		{"-log x -factors 1,zero", "-factors"},
		{"-log x -suggest most", "-suggest"},
		{"-log x -policy p -burst 5", "for a replay without one"},
		{"-log x -top -1", "-top -1"},
	} {
		code, _, stderr := loadgen(t.Context(), append([]string{"replay"}, strings.Fields(c.args)...)...)
		require.Equal(t, exitUsage, code, c.args)
		require.Contains(t, stderr, c.want)
	}
	for _, c := range []struct{ args, want string }{
		{"-log /nowhere", "no such file"},
		{"-log " + log + " -burst 0", "burst"},
		{"-log " + log + " -policy /nowhere", "/nowhere"},
	} {
		code, _, stderr := loadgen(t.Context(), append([]string{"replay"}, strings.Fields(c.args)...)...)
		require.Equal(t, exitFail, code, c.args)
		require.Contains(t, strings.ToLower(stderr), c.want)
	}
}
