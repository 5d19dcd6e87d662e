package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReportShowsTheJSONOfAnyVerb(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, "run.json")
	code, _, stderr := loadgen(t.Context(), "replay", "-log", accessLog(t), "-json", run)
	require.Equal(t, exitOK, code, stderr)
	code, ladderJSON, stderr := loadgen(t.Context(), "ladder", "-scenario", "S2", "-controller", "both", "-seeds", "1", "-json", "-trace")
	require.NotEqual(t, exitUsage, code, stderr)
	ladder := filepath.Join(dir, "ladder.json")
	require.NoError(t, os.WriteFile(ladder, []byte(ladderJSON), 0o644))
	for in, want := range map[string]string{run: "10.0.0.9", ladder: "S2_slowdep3x"} {
		code, out, stderr := loadgen(t.Context(), "report", "-in", in, "-out", "-")
		require.Equal(t, exitOK, code, stderr)
		require.Contains(t, out, want)
		require.Contains(t, out, "<svg")
	}
}

func TestReportRefusesWhatIsNoRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	for content, want := range map[string]string{"": "not the JSON", "[]": "not the JSON", "{}": "no report in it", `{"report":{}}`: "no report in it", "[1]": "not the JSON"} {
		require.NoError(t, os.WriteFile(file, []byte(content), 0o644))
		code, _, stderr := loadgen(t.Context(), "report", "-in", file, "-out", file+".html")
		require.Equal(t, exitFail, code, content)
		require.Contains(t, stderr, want, content)
		require.NoFileExists(t, file+".html")
	}
	code, _, stderr := loadgen(t.Context(), "report")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "-in: missing")
	require.Contains(t, stderr, "-out: missing")
}
