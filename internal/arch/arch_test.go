// Package arch holds the rules of the house as tests: who may import whom.
package arch

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/weir-go/weir/"

// rooms is what each room may import of the module and of others; the standard
// library is free for all. A room that is not listed here does not exist.
var rooms = map[string][]string{
	// The leaves: each can be read, tested and replaced alone.
	"bucket": {},
	"key":    {"github.com/cespare/xxhash/v2", "github.com/dchest/siphash", "golang.org/x/text/cases", "golang.org/x/text/unicode/norm"},
	"gate":   {"internal/atom", "go.uber.org/atomic"},
	"ladder": {"go.uber.org/atomic"},
	"shard":  {"key", "bucket", "internal/atom"},

	// No transport, no file format, no metrics, no Redis.
	"engine": {"bucket", "gate", "key", "ladder", "shard", "internal/atom", "github.com/puzpuzpuz/xsync/v3"},

	// The adapters know one outside thing each, and no other adapter but policy.
	"policy":   {"engine", "key", "github.com/fsnotify/fsnotify", "github.com/goccy/go-yaml", "github.com/puzpuzpuz/xsync/v3"},
	"weirhttp": {"engine", "key", "policy", "internal/front", "internal/series", "github.com/dunglas/httpsfv", "github.com/felixge/httpsnoop", "github.com/puzpuzpuz/xsync/v3"},
	"weirgrpc": {"engine", "key", "policy", "internal/front", "google.golang.org/grpc", "google.golang.org/genproto", "google.golang.org/protobuf", "github.com/puzpuzpuz/xsync/v3"},
	"weirprom": {"engine", "internal/series", "github.com/prometheus/client_golang/prometheus"},
	"weirotel": {"engine", "internal/series", "go.opentelemetry.io/otel/attribute", "go.opentelemetry.io/otel/metric"},
	"fleet":    {"engine", "bucket", "key", "shard", "github.com/cespare/xxhash/v2"},

	"fleet/fleetredis": {"fleet", "github.com/redis/go-redis/v9"},
	"fleet/fleettest":  {"fleet", "key"},

	"internal/atom":            {},
	"internal/collide":         {},
	"internal/explore":         {"internal/atom"},
	"internal/front":           {"engine", "policy"},
	"internal/front/fronttest": {"engine", "policy", "github.com/stretchr/testify/require"},
	"internal/histories":       {"github.com/anishathalye/porcupine"},
	"internal/series":          {"engine"},
	"internal/plant":           {"ladder"},
	"internal/redistest":       {"engine"},
	"internal/arch":            {},

	"": {}, // the root is documentation
}

// judges and programs may import whatever they judge and show.
var programs = []string{"cmd", "bench", "fuzz", "examples"}

type pkg struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func packages(t *testing.T) (all []pkg) {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "github.com/weir-go/weir/...").Output()
	require.NoError(t, err)
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p pkg
		require.NoError(t, d.Decode(&p))
		all = append(all, p)
	}
	return all
}

// room is the name of a package within the module.
func room(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, strings.TrimSuffix(module, "/")), "/")
}

func isProgram(name string) bool { return slices.Contains(programs, strings.Split(name, "/")[0]) }

func standard(path string) bool { return !strings.Contains(strings.Split(path, "/")[0], ".") }

// allowed reports whether the import is one of the names, or lies below one of
// another module.
func allowed(names []string, path string) bool {
	if name := room(path); name != path {
		return slices.Contains(names, name)
	}
	return slices.ContainsFunc(names, func(n string) bool { return path == n || strings.HasPrefix(path, n+"/") })
}

func TestEveryRoomImportsOnlyWhatItMay(t *testing.T) {
	for _, p := range packages(t) {
		name := room(p.ImportPath)
		if isProgram(name) {
			continue
		}
		may, known := rooms[name]
		require.True(t, known, "package %s: is in no room: give it one in this test, or a place in a room that there is", name)
		for _, path := range p.Imports {
			if !standard(path) {
				require.True(t, allowed(may, path), "package %s: must not import %s", name, path)
			}
		}
	}
}

func TestNobodyImportsAProgram(t *testing.T) {
	for _, p := range packages(t) {
		from := room(p.ImportPath)
		for _, path := range p.Imports {
			to := room(path)
			if to == path || !isProgram(to) {
				continue
			}
			require.Equal(t, strings.Split(to, "/")[0], strings.Split(from, "/")[0], "package %s: must not import %s", from, to)
		}
	}
}

func TestOnlyTheBenchmarksImportTheirStatistics(t *testing.T) {
	for _, p := range packages(t) {
		for _, path := range p.Imports {
			if strings.HasPrefix(path, "golang.org/x/perf") {
				require.True(t, strings.HasPrefix(room(p.ImportPath), "bench/"), "package %s: must not import %s", room(p.ImportPath), path)
			}
		}
	}
}
