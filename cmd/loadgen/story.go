package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/weir-go/weir/cmd/loadgen/internal/drive"
	"github.com/weir-go/weir/cmd/loadgen/internal/report"
	"github.com/weir-go/weir/cmd/loadgen/internal/shop"
	"github.com/weir-go/weir/engine"
)

const storyHelp = `usage: loadgen story [flags]

Starts a payments API on a port of this machine and shows on real requests what
each of the four layers is for. Layers are armed one after the other and stay
armed; each act plays its own incident twice on the same traffic, first without
its layer and then with it. An act that is not true on a machine too busy to
send on time is played once more. Exits 1 when what is told is not true.

  loadgen story -acts rate,worker -seed 7 -json out.json

flags:
`

// storyScale is the usual compression of the ladder's time: its tick of 1 s
// becomes 25 ms, and an incident of five minutes fits in 7.5 s.
const storyScale = 40

// The scales for which the story is told: below, the acts take minutes; above,
// the ladder's tick comes near the scheduling noise of a busy machine.
const minScale, maxScale = 10, 50

func storyVerb(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fs := newFlagSet("story", stderr, storyHelp)
	var (
		only  = fs.String("acts", "", "comma-separated acts to play, of "+strings.Join(actNames(), ",")+"; default: all.\nThe layers of the acts before stay armed, played or not")
		seed  = fs.Uint64("seed", 1, "what the traffic is drawn from")
		scale = fs.Float64("scale", storyScale, fmt.Sprintf("by how much the ladder's time constants are compressed, %d to %d", minScale, maxScale))
		file  = fs.String("json", "", "write all figures to this `file`, for \"loadgen report\" too")
	)
	if code, ok := parseFlags(fs, args, stderr); !ok {
		return code
	}
	acts, err := chooseActs(*only)
	if err == nil && !(*scale >= minScale && *scale <= maxScale) {
		err = fmt.Errorf("-scale %v: must be from %d to %d", *scale, minScale, maxScale)
	}
	if err == nil {
		err = writable(*file)
	}
	if err != nil {
		return usageError(stderr, "story", err)
	}
	s := setting{seed: *seed, scale: *scale}
	run, err := playStory(ctx, acts, s, stdout, newStatus(stderr))
	if err != nil && ctx.Err() == nil {
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
func playStory(ctx context.Context, chosen []string, s setting, out io.Writer, status *status) (*storyRun, error) {
	run := &storyRun{started: time.Now(), setting: s}
	run.open(out)
	var armed []half // what earlier acts have left behind
	for i, a := range story() {
		if slices.Contains(chosen, a.name) {
			pr := &played{number: i + 1, act: a}
			run.acts = append(run.acts, pr)
			if err := pr.play(ctx, armed, s, out, status); err != nil {
				return run, err
			}
		}
		armed = append(armed, a.halves[1])
	}
	if slices.Contains(chosen, flapName) {
		run.flap = &flapPlayed{number: len(story()) + 1}
		run.flap.play(ctx, s, out)
	}
	return run, ctx.Err()
}

// play performs the act behind what is armed already, and a second time when
// the first says nothing.
func (p *played) play(ctx context.Context, armed []half, s setting, out io.Writer, status *status) error {
	p.open(out)
	if err := p.perform(ctx, armed, s, out, status); err != nil {
		return err
	}
	late := p.late()
	if len(p.untrue) == 0 || late <= maxLate {
		return nil
	}
	fmt.Fprintf(out, "\n  This machine was too busy to tell: %s of the requests were sent more than %v late. Once more.\n", report.Percent(late), drive.Late)
	p.takes, p.judged, p.untrue = nil, false, nil
	return p.perform(ctx, armed, s, out, status)
}

// perform performs both halves.
func (p *played) perform(ctx context.Context, armed []half, s setting, out io.Writer, status *status) error {
	for h := range p.act.halves {
		cfg := func(sh *shop.Shop) engine.Config {
			c := baseConfig(sh)
			for _, before := range append(slices.Clone(armed), p.act.halves[h]) {
				if before.arm != nil {
					before.arm(&c, s)
				}
			}
			return c
		}
		t, err := perform(ctx, &p.act, h, cfg, s, func(t *take) { status.show(progressLine(p, t)) })
		status.clear()
		if t != nil {
			p.takes = append(p.takes, t)
			p.show(out, t)
		}
		if err != nil {
			return err
		}
	}
	p.judge(out)
	return nil
}

func progressLine(pr *played, t *take) string {
	s := t.latest()
	return fmt.Sprintf("act %d, %s, %s: %.1f of %.1f s, %d of %d workers busy, %d waiting, ladder at %.2f",
		pr.number, pr.act.title, t.half.name, s.At.Seconds(), t.last.Seconds(), s.Busy, s.Live, s.Queued, s.Level)
}

// actNames are the names that -acts knows, in the story's order.
func actNames() (names []string) {
	for _, a := range story() {
		names = append(names, a.name)
	}
	return append(names, flapName)
}

// chooseActs reads -acts; "" names all.
func chooseActs(names string) ([]string, error) {
	if names == "" {
		return actNames(), nil
	}
	chosen := strings.Split(names, ",")
	for _, n := range chosen {
		if !slices.Contains(actNames(), n) {
			return nil, fmt.Errorf("-acts: no act %q; there are %s", n, strings.Join(actNames(), ", "))
		}
	}
	return chosen, nil
}
