package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// newFlagSet returns a verb's empty flags, which explain themselves with the
// help text in front.
func newFlagSet(verb string, stderr io.Writer, help string) *flag.FlagSet {
	fs := flag.NewFlagSet(verb, flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { fmt.Fprint(stderr, help); fs.PrintDefaults() }
	return fs
}

// parseFlags reads a verb's flags; no verb takes further arguments. When it
// reports false the verb is over, with the code.
func parseFlags(fs *flag.FlagSet, args []string, stderr io.Writer) (code int, ok bool) {
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK, false
	case err != nil:
		return exitUsage, false // fs has said why
	case fs.NArg() > 0:
		return usageError(stderr, fs.Name(), fmt.Errorf("unexpected argument %q", fs.Arg(0))), false
	}
	return exitOK, true
}

func usageError(stderr io.Writer, verb string, err error) int {
	fmt.Fprintf(stderr, "loadgen %s: %v\nloadgen %s -h explains\n", verb, err, verb)
	return exitUsage
}

// status is the line that says how a run is going: refreshed in place on a
// terminal, a plain line every five seconds elsewhere.
type status struct {
	w     io.Writer
	term  bool
	shown bool
	next  time.Time
}

const (
	refreshEvery = 200 * time.Millisecond
	plainEvery   = 5 * time.Second
)

func newStatus(w io.Writer) *status {
	f, ok := w.(*os.File)
	s := &status{w: w, term: ok && term.IsTerminal(int(f.Fd()))}
	if !s.term {
		s.next = time.Now().Add(plainEvery)
	}
	return s
}

// show prints the line if it is time to.
func (s *status) show(line string) { s.showFunc(func() string { return line }) }

// showFunc is show for a line that costs something.
func (s *status) showFunc(f func() string) {
	now := time.Now()
	if now.Before(s.next) {
		return
	}
	line := f()
	if !s.term {
		s.next = now.Add(plainEvery)
		fmt.Fprintln(s.w, line)
		return
	}
	s.next = now.Add(refreshEvery)
	fmt.Fprintf(s.w, "\r\x1b[K%s", line)
	s.shown = true
}

// clear takes the line off a terminal.
func (s *status) clear() {
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}

// writeJSON writes v to the file.
func writeJSON(file string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return writeWhole(file, append(b, '\n'))
}

// writable reports why the file could not be written, before a run that takes
// its time. "" is no file.
func writable(file string) error {
	if file == "" {
		return nil
	}
	part := file + ".part"
	f, err := os.Create(part)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(part))
}

// writeWhole writes a file whole or not at all.
func writeWhole(file string, b []byte) error {
	part := file + ".part"
	if err := os.WriteFile(part, b, 0o644); err != nil {
		return err
	}
	return os.Rename(part, file)
}
