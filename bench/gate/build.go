package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// repo is a git working tree.
type repo struct{ root string }

// openRepo finds the working tree that holds dir.
func openRepo(ctx context.Context, dir string) (repo, error) {
	out, err := run(ctx, dir, "git", "rev-parse", "--show-toplevel")
	return repo{root: strings.TrimSpace(out)}, err
}

// checkout puts the revision into a worktree of its own, which the returned
// function removes again.
func (r repo) checkout(ctx context.Context, ref, dir string) (remove func(), err error) {
	if _, err := run(ctx, r.root, "git", "worktree", "add", "--quiet", "--detach", dir, ref); err != nil {
		return nil, err
	}
	return func() {
		// Also after an interrupt: what is left behind would be listed for ever.
		_, _ = run(context.WithoutCancel(ctx), r.root, "git", "worktree", "remove", "--force", dir)
	}, nil
}

// build compiles the benchmarks of a package of the tree at root. Paths are
// trimmed, so that equal sources give equal binaries wherever they lie.
func build(ctx context.Context, root, pkg, to string, args []string) (binary, error) {
	_, err := run(ctx, root, "go", "test", "-c", "-trimpath", "-buildvcs=false", "-o", to, pkg)
	if err != nil {
		return binary{}, err
	}
	if _, err := os.Stat(to); err != nil {
		return binary{}, fmt.Errorf("gate: %s: package %s has no benchmarks", root, pkg)
	}
	return binary{path: to, dir: filepath.Join(root, pkg), args: args}, nil
}

// sameBytes reports whether two files are equal: then a comparison of them
// shows the noise of the machine and nothing else.
func sameBytes(a, b string) bool {
	x, err := os.ReadFile(a)
	if err != nil {
		return false
	}
	y, err := os.ReadFile(b)
	return err == nil && bytes.Equal(x, y)
}

// run returns what a command prints, or an error that holds what it complained
// about.
func run(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("gate: %s %s: %w\n%s%s", name, strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String(), nil
}
