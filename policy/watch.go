package policy

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/weir-go/weir/engine"
)

const (
	// settle is how long a directory must be quiet before the file is read: a
	// change is usually several events.
	settle = 50 * time.Millisecond
	// poll finds what no event tells: a watch that could not be made, network
	// file systems, a directory that was replaced.
	poll = time.Second
)

// Watch puts the file at path into force whenever its content changes, until ctx
// ends; it then returns nil. It follows the file by its name, so a replaced
// file and a Kubernetes ConfigMap, whose files are links into a directory that
// is swapped, are seen like a file written in place.
//
// A file that can't be read, is wrong, or does not end with its "..." changes
// nothing: the policy in force stays, and what is wrong is logged once. It
// returns an error only for a path without a directory. Options of [Load] stay
// as they were for the policy in force.
func Watch(ctx context.Context, path string, b *Bound) error {
	return watchEvery(ctx, path, b, poll)
}

func watchEvery(ctx context.Context, path string, b *Bound, poll time.Duration) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fileError(path, err)
	}
	w := watch{path: path, bound: b, log: b.log.With(slog.String("file", path)), last: b.Policy().data}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fileError(path, errors.Join(err, errNoDirectory))
	}
	var events <-chan fsnotify.Event
	var faults <-chan error
	if n, err := fsnotify.NewWatcher(); err != nil {
		w.log.Warn("policy: no file events; looking once a second", slog.Any("error", err))
	} else {
		defer n.Close()
		// The directory and not the file: a file that is replaced is another one.
		if err := n.Add(filepath.Dir(path)); err != nil {
			w.log.Warn("policy: no file events; looking once a second", slog.Any("error", err))
		}
		events, faults = n.Events, n.Errors
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	quiet := time.NewTimer(0) // look at once: the file may have changed since it was loaded
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			quiet.Reset(settle)
		case _, ok := <-faults:
			if !ok {
				faults = nil
			} // events were lost: the next tick looks
		case <-quiet.C:
			w.look()
		case <-tick.C:
			w.look()
		}
	}
}

var errNoDirectory = errors.New("its directory is none")

// watch is the state of one Watch.
type watch struct {
	path  string
	bound *Bound
	log   *slog.Logger
	last  []byte // content that was put into force or refused last
	lost  bool   // the file could not be read when last looked at
}

// look reads the file and acts on what is new in it.
func (w *watch) look() {
	data, err := read(w.path)
	if err != nil {
		if !w.lost {
			w.log.Error("policy: the file can't be read; the policy in force stays", slog.Any("error", err))
		}
		w.lost = true
		return
	}
	w.lost = false
	if bytes.Equal(data, w.last) {
		return
	}
	w.last = data
	old := w.bound.Policy()
	p, err := load(w.path, data, old.options)
	if err == nil {
		err = w.bound.Swap(p)
	}
	if err != nil {
		w.log.Error("policy: refused; the policy in force stays", slog.Any("error", err))
		return
	}
	added, removed, changed := compare(old.cfg.Limits, p.cfg.Limits)
	w.log.Info("policy: in force", slog.Any("added", added), slog.Any("removed", removed), slog.Any("changed", changed))
}

// compare returns the names of the limits that are new, gone and changed.
func compare(old, now []engine.Limit) (added, removed, changed []string) {
	for _, l := range now {
		i := slices.IndexFunc(old, func(o engine.Limit) bool { return o.Name == l.Name })
		switch {
		case i < 0:
			added = append(added, l.Name)
		case old[i] != l:
			changed = append(changed, l.Name)
		}
	}
	for _, l := range old {
		if !slices.ContainsFunc(now, func(n engine.Limit) bool { return n.Name == l.Name }) {
			removed = append(removed, l.Name)
		}
	}
	return added, removed, changed
}
