// Command loadgen drives a service, shows what each layer of admission is for,
// and tunes limits on recorded traffic.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Exit codes, the same for every verb.
const (
	exitOK    = 0
	exitFail  = 1 // what was to be shown or met was not
	exitUsage = 2
)

// verb is one thing loadgen does. run gets the arguments after the verb and
// returns an exit code; it stops cleanly when ctx ends.
type verb struct {
	name, summary string
	run           func(ctx context.Context, args []string, stdout, stderr io.Writer) int
}

// verbs lists them in the order of the help text.
var verbs = []verb{
	{"check", "a policy file: what is wrong with it, or what it means in words", checkVerb},
	{"story", "what each layer is for, on real requests to a real API", storyVerb},
	{"live", "the story in a browser, with switches and things that break", liveVerb},
	{"attack", "drive a service in an open loop and measure it honestly", attackVerb},
	{"replay", "recorded traffic through a policy: who would have been refused", replayVerb},
	{"fleet", "many engines over one Redis: overshoot, fairness, faults", fleetVerb},
	{"report", "one HTML file with tables and charts from the JSON of any run", reportVerb},
	{"ladder", "overloads in virtual time against the damped ladder and its flap mode", ladderVerb},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" || args[0] == "help" {
		usage(stderr)
		if len(args) == 0 {
			return exitUsage
		}
		return exitOK
	}
	for _, v := range verbs {
		if v.name == args[0] {
			return v.run(ctx, args[1:], stdout, stderr)
		}
	}
	fmt.Fprintf(stderr, "loadgen: unknown verb %q\n\n", args[0])
	usage(stderr)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "usage: loadgen VERB [flags]; loadgen VERB -h explains one\n\n")
	for _, v := range verbs {
		fmt.Fprintf(w, "  %-8s %s\n", v.name, v.summary)
	}
}
