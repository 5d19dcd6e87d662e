package weir_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// blocks are README.md's code blocks of a language, in their order.
func blocks(t *testing.T, language string) (all []string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for i, part := range strings.Split(string(text), "```") {
		if code, ok := strings.CutPrefix(part, language+"\n"); ok && i%2 == 1 {
			all = append(all, code)
		}
	}
	return all
}

// beginning is the one block that begins so.
func beginning(t *testing.T, all []string, with string) string {
	t.Helper()
	for _, b := range all {
		if strings.HasPrefix(b, with) {
			return b
		}
	}
	require.FailNow(t, "README.md has no block that begins so", with)
	return ""
}

// build compiles a Go file as if it stood in the module, and returns the
// program.
func build(t *testing.T, code string) string {
	t.Helper()
	dir := t.TempDir()
	file, list, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "program")
	require.NoError(t, os.WriteFile(file, []byte(code), 0o600))
	here, err := filepath.Abs("cmd/readme")
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(here, "main.go"): file}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	out, err := exec.Command("go", "build", "-overlay", list, "-o", program, "./cmd/readme").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// The start that README.md shows, pasted: it serves, follows its file, and
// refuses the third of three.
func TestThePastedStartWorks(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	code := beginning(t, blocks(t, "go"), "// main.go\n")
	require.Contains(t, code, "127.0.0.1:8080")

	dir := t.TempDir()
	file := filepath.Join(dir, "policy.yaml")
	policy := beginning(t, blocks(t, "yaml"), "# policy.yaml\n")
	require.NoError(t, os.WriteFile(file, []byte(policy), 0o600))
	program := exec.Command(build(t, strings.ReplaceAll(code, "127.0.0.1:8080", addr)))
	program.Dir = dir
	require.NoError(t, program.Start())
	t.Cleanup(func() {
		_ = program.Process.Kill()
		_ = program.Wait()
	})
	charge := func(user string) int { // 0: no answer yet
		resp, err := http.Post("http://"+user+":@"+addr+"/v1/charges", "text/plain", nil)
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	require.Eventually(t, func() bool { return charge("first") == http.StatusOK }, 10*time.Second, 10*time.Millisecond)

	changed := strings.Replace(policy, "rate: 100/s, burst: 200", "rate: 2/min, burst: 2", 1)
	require.NotEqual(t, policy, changed)
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
	user := 0
	require.Eventually(t, func() bool { // a new user each time, for a refusal charges nothing but an admission does
		user++
		who := fmt.Sprint("user", user)
		return [3]int{charge(who), charge(who), charge(who)} == [3]int{200, 200, 429}
	}, 10*time.Second, 50*time.Millisecond)
}

// The other pieces of Go in README.md compile where what they name is there.
func TestThePiecesInTheReadmeCompile(t *testing.T) {
	all := blocks(t, "go")
	require.Len(t, all, 4, "a piece that is not tested")
	build(t, `package main

import (
	"log"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/weir-go/weir/engine"
	"github.com/weir-go/weir/fleet"
	"github.com/weir-go/weir/fleet/fleetredis"
	"github.com/weir-go/weir/policy"
	"github.com/weir-go/weir/weirhttp"
)

func main() {}

func _(email string) engine.Decision {
`+beginning(t, all, "e := engine.Must(")+`
	return t.Decision()
}

func _(e *engine.Engine, login engine.LimitID, userOf func(*http.Request) string) any {
`+beginning(t, all, "byUser := ")+`
	return guard
}

func _(secret []byte) any {
`+beginning(t, all, "transport, err := ")+`
	log.Print(err)
	return e
}
`)
}
