package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every test that a document names exists, so that no promise outlives its
// proof.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	const root = "../.."
	out, err := exec.Command("git", "-C", root, "grep", "-hoE", "^func (Test|Fuzz|Benchmark|Example)[A-Za-z0-9_]*", "--", "*_test.go").Output()
	if err != nil {
		t.Skip("not a checkout: ", err)
	}
	exists := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		exists[strings.TrimPrefix(strings.TrimSpace(line), "func ")] = true
	}
	require.NotEmpty(t, exists)
	name := regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9_]*)`")
	for doc, text := range documents(t, root) {
		for _, m := range name.FindAllStringSubmatch(text, -1) {
			require.True(t, exists[m[1]], "%s names %s", doc, m[1])
		}
	}
}

// documents are the texts of all documents, by their path.
func documents(t *testing.T, root string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, p := range paths {
			text, err := os.ReadFile(p)
			require.NoError(t, err)
			texts[p] = string(text)
		}
	}
	return texts
}

// Every file that a document names or links to is there, but for those that it
// tells the reader to write.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	const root = "../.."
	link := regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	path := regexp.MustCompile("`([a-z][A-Za-z0-9_./*-]*/[A-Za-z0-9_.*-]+\\.(?:go|md|txt|jsonl|sh))`")
	for doc, text := range documents(t, root) {
		var named []string
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			named = append(named, filepath.Join(filepath.Dir(doc), m[1]))
		}
		for _, m := range path.FindAllStringSubmatch(text, -1) {
			named = append(named, filepath.Join(root, m[1]))
		}
		for _, name := range named {
			there, err := filepath.Glob(name)
			require.NoError(t, err)
			require.True(t, len(there) > 0 || strings.Contains(name, "cooldown"), "%s names %s", doc, name)
		}
	}
}
