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
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		require.NoError(t, err)
		for _, m := range name.FindAllStringSubmatch(string(text), -1) {
			require.True(t, exists[m[1]], "%s names %s", filepath.Base(doc), m[1])
		}
	}
}
