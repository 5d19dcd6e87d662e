package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/bench/internal/judge"
)

// These tests run the whole gate: a repository, a worktree of its last commit,
// two test binaries, measurements in turns.

func TestLiveIdenticalCodePasses(t *testing.T) {
	r := newFixture(t)
	verdicts, out := r.gate(t, "HEAD")
	require.Contains(t, out, "test binaries are identical")
	require.NotEmpty(t, verdicts)
	for _, v := range verdicts {
		require.False(t, v.Outcome.Fails(), "%+v\n%s", v, out)
	}
	require.Contains(t, out, "PASS")
	require.Contains(t, out, "vs base", "benchstat's table is missing")
}

func TestLiveSlowdownFails(t *testing.T) {
	r := newFixture(t)
	r.edit(t, "work.go", "const rounds = 1000", "const rounds = 1400")
	verdicts, out := r.gate(t, "HEAD")
	// On a machine that others use too the wall may be too noisy to tell; the
	// processor's time is not.
	v := find(t, verdicts, "Spin/kind=chain", "cpu-sec/op")
	require.Equal(t, judge.Slower, v.Outcome, out)
	require.True(t, v.Again, "a failure must have been measured twice")
	require.Contains(t, out, "FAIL: ")
	for _, unit := range []string{"sec/op", "cpu-sec/op"} {
		require.NotEqual(t, judge.Slower, find(t, verdicts, "Keep", unit).Outcome, out)
	}
}

func TestLiveAllocationFails(t *testing.T) {
	r := newFixture(t)
	r.edit(t, "work.go", "\tkept = x\n\treturn &kept", "\tkept = x\n\ty := x\n\treturn &y")
	r.edit(t, "work.go", "func Keep", "//go:noinline\nfunc Keep")
	verdicts, out := r.gate(t, "HEAD")
	require.Equal(t, judge.More, find(t, verdicts, "Keep", "allocs/op").Outcome, out)
	require.Equal(t, judge.More, find(t, verdicts, "Keep", "B/op").Outcome, out)
	require.Equal(t, judge.Same, find(t, verdicts, "Spin/kind=chain", "allocs/op").Outcome, out)
}

func TestLiveGoneBenchmarkFails(t *testing.T) {
	r := newFixture(t)
	r.edit(t, "work_test.go", "func BenchmarkKeep", "func BenchmarkKept")
	verdicts, out := r.gate(t, "HEAD")
	require.Equal(t, judge.Gone, find(t, verdicts, "Keep", "").Outcome, out)
	require.Equal(t, judge.New, find(t, verdicts, "Kept", "").Outcome, out)
}

func TestLiveLeavesNothingBehind(t *testing.T) {
	r := newFixture(t)
	r.gate(t, "HEAD")
	out, err := run(t.Context(), r.dir, "git", "worktree", "list")
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(out, "\n"), out)
	out, err = run(t.Context(), r.dir, "git", "status", "--porcelain")
	require.NoError(t, err)
	require.Empty(t, out)
}

func TestUnusableComparisonIsAnError(t *testing.T) {
	r := newFixture(t)
	for name, change := range map[string]func(*options){
		"no such revision":  func(o *options) { o.base = "no-such-revision" },
		"no such package":   func(o *options) { o.pkg = "./nothing" },
		"no such benchmark": func(o *options) { o.bench = "Nothing" },
		"too few rounds":    func(o *options) { o.plan.rounds = 4 },
		"not a repository":  func(o *options) { o.dir = t.TempDir() },
		"does not compile":  func(*options) { r.edit(t, "work.go", "package fixture", "package fixture; var x int = \"\"") },
		"no tries":          func(o *options) { o.plan.tries = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			o := r.options("HEAD")
			change(&o)
			_, err := compare(t.Context(), o, &bytes.Buffer{})
			require.Error(t, err)
		})
	}
}

// The pattern of one benchmark also matches those whose name goes on after it.
func TestASampleIsOfOneBenchmarkOnly(t *testing.T) {
	r := newFixture(t)
	r.edit(t, "work_test.go", "b.Run(\"kind=chain\"", "b.Run(\"kind=chain/long=10x\", func(b *testing.B) {\n\t\tfor b.Loop() {\n\t\t\tfor range 10 {\n\t\t\t\tsink = Spin(sink)\n\t\t\t}\n\t\t}\n\t})\n\tb.Run(\"kind=chain\"")
	o := r.options("")
	b, err := build(t.Context(), r.dir, ".", filepath.Join(t.TempDir(), "b.test"), nil)
	require.NoError(t, err)
	names, err := b.list(t.Context(), "Spin")
	require.NoError(t, err)
	require.Len(t, names, 2)
	o.plan.rounds = 5
	p, err := o.plan.measure(t.Context(), names[1], b, b)
	require.NoError(t, err)
	require.Len(t, p.base, 5)
	for _, res := range append(p.base, p.head...) {
		require.Equal(t, names[1], res.Name.String())
	}
}

// fixture is a git repository with the fixture module in its first commit.
type fixture struct{ dir string }

func newFixture(t *testing.T) fixture {
	t.Helper()
	r := fixture{dir: t.TempDir()}
	require.NoError(t, os.CopyFS(r.dir, os.DirFS(filepath.Join("testdata", "fixture"))))
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "."},
		{"-c", "user.name=gate", "-c", "user.email=gate@localhost", "commit", "--quiet", "-m", "Start"},
	} {
		_, err := run(t.Context(), r.dir, "git", args...)
		require.NoError(t, err)
	}
	return r
}

func (r fixture) edit(t *testing.T, file, old, with string) {
	t.Helper()
	path := filepath.Join(r.dir, file)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), old)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(data), old, with, 1)), 0o644))
}

func (r fixture) options(base string) options {
	return options{
		base: base, dir: r.dir, pkg: ".", bench: ".",
		plan: plan{rounds: 6, tries: 3, benchtime: 10 * time.Millisecond},
		rule: judge.Rule{Alpha: 0.01, Threshold: 0.10},
	}
}

func (r fixture) gate(t *testing.T, base string) ([]judge.Verdict, string) {
	t.Helper()
	var out bytes.Buffer
	verdicts, err := compare(t.Context(), r.options(base), &out)
	require.NoError(t, err)
	return verdicts, out.String()
}

func find(t *testing.T, verdicts []judge.Verdict, name, unit string) judge.Verdict {
	t.Helper()
	for _, v := range verdicts {
		if strings.TrimSuffix(v.Name, suffix(v.Name)) == name && v.Unit == unit {
			return v
		}
	}
	require.Failf(t, "no verdict", "%s %s in %+v", name, unit, verdicts)
	return judge.Verdict{}
}

// suffix is the -GOMAXPROCS at the end of a name.
func suffix(name string) string {
	if i := strings.LastIndexByte(name, '-'); i >= 0 {
		return name[i:]
	}
	return ""
}
