package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

type verdict int

const (
	killed verdict = iota
	timedOut
	survived
	unbuilt
)

type result struct {
	verdict verdict
	output  string
	took    time.Duration
}

// runner runs tests of the module at root.
type runner struct {
	root, tags, match string
	limit             time.Duration // of a test run; 0: five minutes
}

// test runs the packages' tests with the given contents in place of the files'
// own. survived means that they passed.
func (r runner) test(overlay map[string][]byte, pkgs []string) result {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	limit := r.limit
	if limit == 0 {
		limit = 5 * time.Minute
	}
	args := []string{"test", "-count=1", "-failfast", "-vet=off", "-timeout", limit.String(), "-ldflags=-s -w"}
	if r.tags != "" {
		args = append(args, "-tags", r.tags)
	}
	if r.match != "" {
		args = append(args, "-run", r.match)
	}
	if overlay != nil {
		args = append(args, "-overlay", writeOverlay(dir, overlay))
	}
	// The test binary may ignore its own time limit when a fault makes it spin
	// or allocate; building takes a while too.
	ctx, cancel := context.WithTimeout(context.Background(), limit+2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append(args, pkgs...)...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "GOMEMLIMIT=2GiB")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	start := time.Now()
	out, err := cmd.CombinedOutput()
	res := result{output: string(out), took: time.Since(start)}
	switch {
	case err == nil:
		res.verdict = survived
	case strings.Contains(res.output, "[build failed]"), strings.Contains(res.output, "[setup failed]"):
		res.verdict = unbuilt
	case ctx.Err() != nil, strings.Contains(res.output, "panic: test timed out"):
		res.verdict = timedOut
	}
	return res
}

func writeOverlay(dir string, files map[string][]byte) string {
	replace := map[string]string{}
	for path, src := range files {
		tmp := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(tmp, src, 0o600); err != nil {
			panic(err)
		}
		replace[path] = tmp
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		panic(err)
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		panic(err)
	}
	return name
}
