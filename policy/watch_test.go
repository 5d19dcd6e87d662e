package policy_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/policy"
)

func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// rated is a policy whose one limit has the given rate per hour.
func rated(n int) string {
	return fmt.Sprintf("limits:\n  x: {key: identity, rate: %d/h}\n...\n", n)
}

// events is a log that tests can wait on, of what Watch says of the policy.
type events struct {
	slog.Handler
	c chan string
}

func (e events) Enabled(context.Context, slog.Level) bool { return true }
func (e events) WithAttrs([]slog.Attr) slog.Handler       { return e }
func (e events) Handle(_ context.Context, r slog.Record) error {
	if r.Message == inForce || r.Message == refusal || r.Message == lost {
		e.c <- r.Message
	}
	return nil
}

const (
	inForce = "policy: in force"
	refusal = "policy: refused; the policy in force stays"
	lost    = "policy: the file can't be read; the policy in force stays"
)

// watched is a service that watches the file at path, and its log. It looks
// without an event only after the given time.
func watched(t *testing.T, path string, poll time.Duration) (s *service, log chan string) {
	t.Helper()
	log = make(chan string, 100)
	s = &service{t: t, clock: engine.NewManualClock(start)}
	p, err := policy.Load(path, policy.Base(engine.Config{Clock: s.clock, MaxEntries: 1 << 10, Logger: slog.New(events{c: log})}))
	require.NoError(t, err)
	s.engine, err = engine.New(p.Config())
	require.NoError(t, err)
	s.bound, err = policy.New(s.engine, p)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- policy.WatchEvery(ctx, path, s.bound, poll) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, s.engine.Close())
	})
	return s, log
}

// next waits for the watch to say something of the policy, within the time that
// a change may take.
func next(t *testing.T, log chan string) string {
	t.Helper()
	select {
	case m := <-log:
		return m
	case <-time.After(2 * time.Second):
		t.Fatal("nothing happened within 2 s")
		return ""
	}
}

func (s *service) budget() int64 { return s.ask(by(fmt.Sprint(time.Now().UnixNano()))).Remaining + 1 }

func TestChangedFileIsInForceAtOnce(t *testing.T) {
	path := write(t, rated(3))
	s, log := watched(t, path, time.Hour)
	require.Equal(t, int64(3), s.budget())
	require.NoError(t, os.WriteFile(path, []byte(rated(5)), 0o600)) // in place
	for m := next(t, log); m != inForce; m = next(t, log) {         // perhaps seen while it was empty
	}
	require.Equal(t, int64(5), s.budget())
	other := write(t, rated(7))
	require.NoError(t, os.Rename(other, path)) // replaced
	require.Equal(t, inForce, next(t, log))
	require.Equal(t, int64(7), s.budget())
}

// A Kubernetes ConfigMap is a directory of links through a link that is swapped.
func TestSwappedConfigMapIsInForceEveryTime(t *testing.T) {
	dir := t.TempDir()
	version := func(v string, text string) {
		require.NoError(t, os.Mkdir(filepath.Join(dir, v), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, v, "policy.yaml"), []byte(text), 0o600))
		require.NoError(t, os.Symlink(v, filepath.Join(dir, "..data_tmp")))
		require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	}
	version("..v1", rated(1))
	path := filepath.Join(dir, "policy.yaml")
	require.NoError(t, os.Symlink("..data/policy.yaml", path))
	s, log := watched(t, path, time.Hour)
	for i, v := range []string{"..v2", "..v3", "..v4"} {
		version(v, rated(i+2))
		require.Equal(t, inForce, next(t, log))
		require.Equal(t, int64(i+2), s.budget())
		require.NoError(t, os.RemoveAll(filepath.Join(dir, fmt.Sprint("..v", i+1))))
	}
}

func TestBrokenFilesNeverReachTheEngine(t *testing.T) {
	path := write(t, rated(3))
	s, log := watched(t, path, time.Hour)
	whole := rated(9)
	for _, text := range []string{"", whole[:len(whole)/2], whole[:len(whole)-4], "limits: {x: }\n...\n"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.Equal(t, refusal, next(t, log))
		require.Equal(t, int64(3), s.budget())
	}
	require.NoError(t, os.Remove(path))
	require.Equal(t, lost, next(t, log))
	require.Equal(t, int64(3), s.budget())
	require.NoError(t, os.WriteFile(path+".tmp", []byte(whole), 0o600))
	require.NoError(t, os.Rename(path+".tmp", path))
	require.Equal(t, inForce, next(t, log))
	require.Equal(t, int64(9), s.budget())
}

// What no event tells is found by looking: here the file's link leads to another
// directory, in which nobody watches.
func TestChangeWithoutAnEventIsFound(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "policy.yaml")
	lead := func(target string) {
		require.NoError(t, os.Symlink(target, link+".new"))
		require.NoError(t, os.Rename(link+".new", link))
	}
	lead(write(t, rated(3)))
	s, log := watched(t, link, 100*time.Millisecond)
	target := write(t, rated(4))
	lead(target)
	require.Equal(t, inForce, next(t, log), "the link itself has changed: an event")
	require.NoError(t, os.Rename(write(t, rated(5)), target))
	require.Equal(t, inForce, next(t, log))
	require.Equal(t, int64(5), s.budget())
}

// Editors of another system end lines and begin files in their own way.
func TestFileOfAnotherSystemIsRead(t *testing.T) {
	_, err := policy.Load(write(t, "\ufeff"+strings.ReplaceAll(rated(3), "\n", "\r\n")))
	require.NoError(t, err)
}

func TestWatchOfNoDirectoryIsAnError(t *testing.T) {
	s := serve(t, "limits: {}")
	require.ErrorContains(t, policy.Watch(t.Context(), filepath.Join(t.TempDir(), "none", "policy.yaml"), s.bound), "none/policy.yaml")
}

// Reloading leaves nothing behind.
func TestReloadsLeaveNoGoroutines(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("watched", func(t *testing.T) {
		path := write(t, rated(3))
		s, _ := watched(t, path, time.Hour)
		p := s.bound.Policy()
		for range 1000 {
			require.NoError(t, s.bound.Swap(p))
		}
	})
}
