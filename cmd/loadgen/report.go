package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

const reportHelp = `usage: loadgen report -in FILE -out FILE

Turns the JSON of any run into one HTML file with its tables and charts inside:
for an incident review, or with a tuning proposal.

  loadgen replay -log access.log -rate 1/s -burst 20 -json run.json
  loadgen report -in run.json -out run.html
  loadgen ladder -controller both -seeds 1 -json -trace | loadgen report -in - -out ladder.html

flags:
`

func reportVerb(_ context.Context, args []string, stdout, stderr io.Writer) int {
	fs := newFlagSet("report", stderr, reportHelp)
	in := fs.String("in", "", "the `file` that a verb wrote with -json; - is the standard input")
	out := fs.String("out", "", "the HTML `file`; - is the standard output")
	if code, ok := parseFlags(fs, args, stderr); !ok {
		return code
	}
	var errs []error
	if *in == "" {
		errs = append(errs, errors.New("-in: missing"))
	}
	if *out == "" {
		errs = append(errs, errors.New("-out: missing"))
	}
	if err := errors.Join(errs...); err != nil {
		return usageError(stderr, "report", err)
	}
	if err := writeReport(*in, *out, stdout); err != nil {
		fmt.Fprintln(stderr, "loadgen report:", err)
		return exitFail
	}
	return exitOK
}

func writeReport(in, out string, stdout io.Writer) error {
	src := os.Stdin
	if in != "-" {
		f, err := os.Open(in)
		if err != nil {
			return err
		}
		defer f.Close()
		src = f
	}
	b, err := io.ReadAll(src)
	if err != nil {
		return err
	}
	d, err := document(in, b)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := d.WriteHTML(&page); err != nil {
		return err
	}
	if out == "-" {
		_, err := page.WriteTo(stdout)
		return err
	}
	return writeWhole(out, page.Bytes())
}
