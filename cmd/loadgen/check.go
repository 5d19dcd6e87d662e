package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/weir-go/weir/policy"
)

const checkUsage = `usage: loadgen check [flags] POLICY.yaml

Validates a policy and says in words what it means, with the worst case per
window of every limit. Exits 1 when something is wrong, with the line of every
fault.

`

// checkVerb validates a policy file and says in words what it means. The
// service's own code is not here, so any name of an extractor is accepted.
func checkVerb(_ context.Context, args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("check", flag.ContinueOnError)
	fs.SetOutput(stderr)
	route := fs.String("route", "", "say only what a request to this route meets: a `METHOD PATTERN` such as \"GET /users/{id}\"")
	fs.Usage = func() {
		fmt.Fprint(stderr, checkUsage)
		fs.PrintDefaults()
	}
	// Flags may stand on both sides of the file.
	err := fs.Parse(args)
	path := fs.Arg(0)
	if err == nil && path != "" {
		err = fs.Parse(fs.Args()[1:])
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage // fs has said why
	case path == "" || fs.NArg() > 0:
		return usageError(stderr, "check", errors.New("name one policy file"))
	}
	method, pattern, ok := strings.Cut(strings.TrimSpace(*route), " ")
	if *route != "" && !ok {
		return usageError(stderr, "check", fmt.Errorf("-route %q: write a method and a pattern", *route))
	}
	p, err := policy.Load(path, policy.CheckOnly())
	if err == nil {
		if *route == "" {
			err = p.Describe(stdout)
		} else {
			err = p.DescribeRoute(stdout, strings.ToUpper(method), strings.TrimSpace(pattern))
		}
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitFail
	}
	return exitOK
}
