package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite docs/loadgen.md")

// The manual is what the program says of itself.
func TestTheManualIsWhatHelpPrints(t *testing.T) {
	const page = "../../docs/loadgen.md"
	help := func(args ...string) string {
		var b bytes.Buffer
		require.Equal(t, exitOK, run(t.Context(), args, io.Discard, &b))
		return "```\n" + strings.TrimSpace(b.String()) + "\n```\n"
	}
	var want strings.Builder
	fmt.Fprint(&want, "# loadgen, verb by verb\n\nWhat `loadgen VERB -h` prints, for reading ahead. Write it anew with\n"+
		"`go test ./cmd/loadgen -run Manual -update`.\n\n", help("help"))
	for _, v := range verbs {
		fmt.Fprintf(&want, "\n## %s\n\n%s", v.name, help(v.name, "-h"))
	}
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want.String()), 0o644))
	}
	got, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, want.String(), string(got), "go test ./cmd/loadgen -run Manual -update")
}
