package ladder_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/ladder"
)

// A group that has used nothing yet has used 0, in both versions.
func TestAGroupThatHasUsedNothingIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := version1("50000", "100000")
		files["sys/fs/cgroup/cpu,cpuacct/cpuacct.usage"] = "0\n"
		h := newHost(t, files)
		c := ladder.NewCPU(h.root)
		r := oneSecond(c, func() { h.write("sys/fs/cgroup/cpu,cpuacct/cpuacct.usage", "250000000\n") })
		require.True(t, r.OK)
		require.InDelta(t, 0.5, r.Value, 1e-6)
	})
}

// In version 1 the topmost group keeps no quota file: it has no bound.
func TestAGroupWithoutAQuotaFileHasNoBound(t *testing.T) {
	files := version1("50000", "50000")
	delete(files, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us")
	c := ladder.NewCPU(newHost(t, files).root)
	for end := time.Now().Add(20 * time.Millisecond); time.Now().Before(end); {
	}
	require.True(t, c.Read().OK)
	require.Equal(t, "process", c.Source())
}

// The mount that counts is told by its file system, whatever else is mounted
// before it and whatever its source is called.
func TestTheMountIsFoundAmongOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := version2("200000 100000")
		files["proc/self/mountinfo"] = "22 1 0:20 / / rw - ext4 /dev/root rw\n" +
			"23 22 0:21 / /proc rw - proc proc rw\n" +
			"24 22 0:22 / /sys/fs/other rw - tmpfs cgroup2 rw,mode=755\n" +
			"torn cgroup2\n25 22 - cgroup2 none rw\n26 22 0:26 / /sys/fs/none rw - cgroup2\n\n" +
			"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 none rw,nsdelegate\n"
		h := newHost(t, files)
		c := ladder.NewCPU(h.root)
		r := oneSecond(c, func() { h.write("sys/fs/cgroup/pod/box/cpu.stat", "usage_usec 2500000\n") })
		require.InDelta(t, 0.75, r.Value, 1e-6)
		require.Equal(t, "cgroup v2", c.Source())
	})
}

// In version 1 quota and usage may lie in two hierarchies, each with a mount and
// a path of its own, and other controllers have theirs.
func TestQuotaAndUsageMayLieApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, map[string]string{
			"proc/self/cgroup": "6:memory:/m\n5:cpu:/pod/box\n3:cpuacct:/acct\n",
			"proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
				"31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" +
				"32 23 0:28 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n",
			"sys/fs/cgroup/cpu/pod/box/cpu.cfs_quota_us":  "100000\n",
			"sys/fs/cgroup/cpu/pod/box/cpu.cfs_period_us": "100000\n",
			"sys/fs/cgroup/cpuacct/acct/cpuacct.usage":    "0\n",
			"sys/fs/cgroup/cpuacct/cpuacct.usage":         "0\n",
			"sys/fs/cgroup/memory/cpuacct.usage":          "7\n",
		})
		c := ladder.NewCPU(h.root)
		r := oneSecond(c, func() { h.write("sys/fs/cgroup/cpuacct/acct/cpuacct.usage", "300000000\n") })
		require.True(t, r.OK)
		require.InDelta(t, 0.3, r.Value, 1e-6)
		require.Equal(t, "cgroup v1", c.Source())
	})
}

// A mount may show a part of the hierarchy: paths are relative to that part, and
// a path that is not in it leaves the part itself.
func TestAMountMayShowAPartOfTheHierarchy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := map[string]string{
			"proc/self/cgroup":                  "0::/docker/abc\n",
			"proc/self/mountinfo":               "30 23 0:26 /docker /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/cpu.stat":            "usage_usec 0\n",
			"sys/fs/cgroup/cpu.pressure":        "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
			"sys/fs/cgroup/abc/cpu.max":         "100000 100000\n",
			"sys/fs/cgroup/abc/cpu.stat":        "usage_usec 0\n",
			"sys/fs/cgroup/abc/cpu.pressure":    "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
			"proc/pressure/cpu":                 "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
			"sys/fs/elsewhere/abc/cpu.pressure": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		}
		h := newHost(t, files)
		c := ladder.NewCPU(h.root)
		r := oneSecond(c, func() { h.write("sys/fs/cgroup/abc/cpu.stat", "usage_usec 600000\n") })
		require.InDelta(t, 0.6, r.Value, 1e-6)
		require.Equal(t, "cgroup v2", c.Source())

		h.write("proc/self/cgroup", "0::/elsewhere/abc\n") // as a process in another's namespace sees it
		p := ladder.NewPSI(h.root)
		time.Sleep(time.Second)
		h.write("sys/fs/cgroup/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=250000\n")
		require.InDelta(t, 0.4, p.Read().Value, 1e-6, "not the machine's")
	})
}
