package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/shop"
	"github.com/weir-go/weir/engine"
)

const storyHelp = `usage: loadgen story [flags]

Starts a payments API on a port of this machine and shows on real requests what
each of the four layers is for. Layers are armed one after the other and stay
armed; each act plays its own incident twice on the same traffic, first without
its layer and then with it. Exits 1 when what is told is not true.

  loadgen story -acts rate,worker -seed 7 -json out.json

flags:
`

// storyScale is the usual compression of the ladder's time: its tick of 1 s
// becomes 40 ms, and an incident of three minutes fits in 7 s.
const storyScale = 25

// The scales for which the story is told: below, the acts take minutes; above,
// the ladder's tick comes near the scheduling noise of a busy machine.
const minScale, maxScale = 10, 40

func storyVerb(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("story", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() { fmt.Fprint(stderr, storyHelp); fs.PrintDefaults() }
	var (
		only  = fs.String("acts", "", "comma-separated acts to play, of "+strings.Join(actNames(story()), ",")+"; default: all.\nThe layers of the acts before stay armed, played or not")
		seed  = fs.Uint64("seed", 1, "what the traffic is drawn from")
		scale = fs.Float64("scale", storyScale, fmt.Sprintf("by how much the ladder's time constants are compressed, %d to %d", minScale, maxScale))
		file  = fs.String("json", "", "write all figures to this `file`, for \"loadgen report\" too")
	)
	if code, ok := parseFlags(fs, args, stderr); !ok {
		return code
	}
	acts, err := chooseActs(story(), *only)
	if err == nil && !(*scale >= minScale && *scale <= maxScale) {
		err = fmt.Errorf("-scale %v: must be from %d to %d", *scale, minScale, maxScale)
	}
	if err != nil {
		return usageError(stderr, "story", err)
	}
	s := setting{seed: *seed, scale: *scale}
	run, err := playStory(ctx, acts, s, stdout, newStatus(stderr))
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(stderr, "loadgen story:", err)
		return exitFail
	}
	if *file != "" {
		if err := writeJSON(*file, run.json()); err != nil {
			fmt.Fprintln(stderr, "loadgen story:", err)
			return exitFail
		}
	}
	if !run.conclude(stdout) {
		return exitFail
	}
	return exitOK
}

// playStory plays the chosen acts. The error is ctx's when it was stopped; the
// run then holds what was played so far.
func playStory(ctx context.Context, acts []act, s setting, out io.Writer, status *status) (*storyRun, error) {
	run := &storyRun{started: time.Now(), setting: s}
	run.open(out)
	var armed []half // what earlier acts have left behind
	for i, a := range story() {
		if slices.ContainsFunc(acts, func(c act) bool { return c.name == a.name }) {
			pr := &played{number: i + 1, act: a}
			run.acts = append(run.acts, pr)
			pr.open(out)
			for h := range a.halves {
				cfg := func(sh *shop.Shop) engine.Config {
					c := baseConfig(sh)
					for _, before := range append(slices.Clone(armed), a.halves[h]) {
						if before.arm != nil {
							before.arm(&c, s)
						}
					}
					return c
				}
				t, err := perform(ctx, &a, h, cfg, s, func(t *take) { status.show(progressLine(pr, t)) })
				status.clear()
				if t != nil {
					pr.takes = append(pr.takes, t)
					pr.show(out, t)
				}
				if err != nil {
					return run, err
				}
			}
			pr.judge(out)
		}
		armed = append(armed, a.halves[1])
	}
	return run, nil
}

func progressLine(pr *played, t *take) string {
	s := t.latest()
	return fmt.Sprintf("act %d, %s, %s: %.1f of %.1f s, %d of %d workers busy, %d waiting, ladder at %.2f",
		pr.number, pr.act.title, t.half.name, s.At.Seconds(), t.last.Seconds(), s.Busy, s.Live, s.Queued, s.Level)
}

func actNames(acts []act) (names []string) {
	for _, a := range acts {
		names = append(names, a.name)
	}
	return names
}

// chooseActs returns the named acts in the story's order; "" names all.
func chooseActs(all []act, names string) ([]act, error) {
	if names == "" {
		return all, nil
	}
	wanted := strings.Split(names, ",")
	var chosen []act
	for _, a := range all {
		if i := slices.Index(wanted, a.name); i >= 0 {
			chosen = append(chosen, a)
			wanted = slices.DeleteFunc(wanted, func(n string) bool { return n == a.name })
		}
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("-acts: no act %q; there are %s", wanted[0], strings.Join(actNames(all), ", "))
	}
	return chosen, nil
}

// writeJSON writes v to the file, whole or not at all.
func writeJSON(file string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	tmp := file + ".part"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, file)
}
