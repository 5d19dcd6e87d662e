package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/weirhttp"
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

// A shadow limit of a service that runs gives the same table as a replay.
func TestReplayReadsTheStateOfAServiceThatRuns(t *testing.T) {
	e, err := engine.New(engine.Config{Limits: []engine.Limit{
		{Name: "dark", Rate: 1, Per: time.Hour, Burst: 2, Mode: engine.Shadow},
		{Name: "hard", Rate: 1, Per: time.Hour, Burst: 5},
	}})
	require.NoError(t, err)
	defer e.Close()
	dark, _ := e.Limit("dark")
	hard, _ := e.Limit("hard")
	for range 10 {
		k := e.Key("u")
		ticket := e.Admit(engine.Request{Class: engine.Write, Claims: []engine.Claim{dark.Claim(k), hard.Claim(k)}})
		ticket.Done(engine.Success)
	}
	srv := httptest.NewServer(weirhttp.Admin(e))
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "state.json")
	code, out, stderr := loadgen(t.Context(), "replay", "-state", srv.URL+"/state", "-json", file)
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, out, "10 requests decided")
	require.Regexp(t, `dark\s+rate\s+shadow\s+limited\s+write\s+0\s+0 %\s+[3-8]\s`, out)
	require.Regexp(t, `hard\s+rate\s+enforce\s+limited\s+write\s+5\s+50.0 %\s+0\s`, out)
	code, page, stderr := loadgen(t.Context(), "report", "-in", file, "-out", "-")
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, page, "would have refused")

	code, _, stderr = loadgen(t.Context(), "replay", "-state", srv.URL+"/nowhere")
	require.Equal(t, exitFail, code)
	require.Contains(t, stderr, "404")
}
