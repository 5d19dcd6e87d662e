package ladder

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cgroups are the control groups that the process lives in, from its own up to
// the topmost that can be seen. Any of them may have a processor quota.
type cgroups struct {
	version string // "cgroup v1" or "cgroup v2"
	levels  []cgroup
}

// cgroup is where the files of one group are. In version 1 quota and usage may
// lie in two hierarchies.
type cgroup struct{ quotaDir, usageDir string }

// findCgroups reads the process's groups below root, which is "/" but in tests.
// Without any that govern the processor there are no levels.
func findCgroups(root string) cgroups {
	mounts := readLines(filepath.Join(root, "proc/self/mountinfo"))
	own := readLines(filepath.Join(root, "proc/self/cgroup"))

	// A controller lives in one version only, and a hybrid system has the other
	// one mounted without it: the process has a path for "cpu" in version 1 only if
	// it is governed there.
	if path, ok := ownPath(own, "cpu"); ok {
		quota := groupDirs(root, mounts, "cgroup", "cpu", path)
		path, _ = ownPath(own, "cpuacct")
		usage := groupDirs(root, mounts, "cgroup", "cpuacct", path)
		g := cgroups{version: "cgroup v1"}
		for i := range min(len(quota), len(usage)) {
			g.levels = append(g.levels, cgroup{quota[i], usage[i]})
		}
		return g
	}
	g := cgroups{version: "cgroup v2"}
	if path, ok := ownPath(own, ""); ok {
		for _, dir := range groupDirs(root, mounts, "cgroup2", "", path) {
			g.levels = append(g.levels, cgroup{dir, dir})
		}
	}
	return g
}

func readLines(name string) []string {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

// ownPath is the process's path in the hierarchy of a controller, from lines
// like "4:cpu,cpuacct:/path"; "" is the hierarchy of version 2, "0::/path".
func ownPath(lines []string, controller string) (string, bool) {
	for _, line := range lines {
		f := strings.SplitN(line, ":", 3)
		if len(f) == 3 && slices.Contains(strings.Split(f[1], ","), controller) {
			return f[2], true
		}
	}
	return "", false
}

// groupDirs are the directories of the group with the path, and of all above it
// that are mounted, its own first. A line of mountinfo is
//
//	36 35 98:0 /root-in-hierarchy /mount/point options... - type source super,options
//
// In a container the mount often shows a part of the hierarchy only, which the
// path may or may not be relative to.
func groupDirs(root string, mounts []string, fstype, controller, path string) []string {
	for _, line := range mounts {
		before, after, ok := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if !ok || len(left) < 5 || len(right) < 3 || right[0] != fstype {
			continue
		}
		if controller != "" && !slices.Contains(strings.Split(right[2], ","), controller) {
			continue
		}
		top := filepath.Join(root, left[4])
		dir := filepath.Join(top, path)
		if rel, err := filepath.Rel(left[3], path); err == nil && !strings.HasPrefix(rel, "..") {
			dir = filepath.Join(top, rel)
		}
		if _, err := os.Stat(dir); err != nil {
			dir = top
		}
		var dirs []string
		for ; len(dir) >= len(top); dir = filepath.Dir(dir) {
			dirs = append(dirs, dir)
			if dir == top {
				break
			}
		}
		return dirs
	}
	return nil
}

// quota is how many processors the group may use; limited is false when there is
// no bound, ok when what is written there makes no sense.
func (g cgroup) quota() (cores float64, limited, ok bool) {
	if raw, err := os.ReadFile(filepath.Join(g.quotaDir, "cpu.max")); err == nil {
		f := strings.Fields(string(raw))
		if len(f) == 2 && f[0] == "max" {
			return 0, false, true
		}
		if len(f) == 2 {
			return ratio(f[0], f[1])
		}
		return 0, false, false
	}
	quota, err := os.ReadFile(filepath.Join(g.quotaDir, "cpu.cfs_quota_us"))
	if err != nil {
		return 0, false, true // the root group has no bound, and no file
	}
	period, _ := os.ReadFile(filepath.Join(g.quotaDir, "cpu.cfs_period_us")) // none makes no ratio
	q := strings.TrimSpace(string(quota))
	if q == "-1" {
		return 0, false, true
	}
	return ratio(q, strings.TrimSpace(string(period)))
}

func ratio(quota, period string) (cores float64, limited, ok bool) {
	q, err1 := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	if err1 != nil || err2 != nil || !(q > 0) || !(p > 0) {
		return 0, false, false
	}
	return q / p, true, true
}

// used is the processor time that the group has used.
func (g cgroup) used() (time.Duration, bool) {
	for _, line := range readLines(filepath.Join(g.usageDir, "cpu.stat")) {
		if micros, found := strings.CutPrefix(line, "usage_usec "); found {
			n, err := strconv.ParseInt(micros, 10, 64)
			return time.Duration(n) * time.Microsecond, err == nil && n >= 0
		}
	}
	for _, line := range readLines(filepath.Join(g.usageDir, "cpuacct.usage")) {
		n, err := strconv.ParseInt(line, 10, 64)
		return time.Duration(n), err == nil && n >= 0
	}
	return 0, false
}
