package ladder_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/ladder"
)

// host is a fake root with proc and sys.
type host struct {
	t    *testing.T
	root string
}

func newHost(t *testing.T, files map[string]string) host {
	h := host{t, t.TempDir()}
	for name, content := range files {
		h.write(name, content)
	}
	return h
}

func (h host) write(name, content string) {
	h.t.Helper()
	name = filepath.Join(h.root, name)
	require.NoError(h.t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(h.t, os.WriteFile(name, []byte(content), 0o644))
}

func (h host) remove(name string) {
	h.t.Helper()
	require.NoError(h.t, os.Remove(filepath.Join(h.root, name)))
}

// version2 is a container in a pod, seen from outside its own namespace.
func version2(quota string) map[string]string {
	return map[string]string{
		"proc/self/cgroup":                     "0::/pod/box\n",
		"proc/self/mountinfo":                  "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
		"sys/fs/cgroup/cpu.stat":               "usage_usec 0\n",
		"sys/fs/cgroup/pod/cpu.max":            "max 100000\n",
		"sys/fs/cgroup/pod/cpu.stat":           "usage_usec 0\nuser_usec 0\n",
		"sys/fs/cgroup/pod/box/cpu.max":        quota + "\n",
		"sys/fs/cgroup/pod/box/cpu.stat":       "usage_usec 1000000\nuser_usec 0\nsystem_usec 0\n",
		"sys/fs/cgroup/pod/box/cpu.pressure":   "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
		"proc/pressure/cpu":                    "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n",
		"sys/fs/cgroup/unrelated/box/cpu.stat": "usage_usec 999999999\n",
	}
}

// version1 is a container whose mounts show its own group as the top, while its
// path is told from the host's point of view.
func version1(quota, period string) map[string]string {
	return map[string]string{
		"proc/self/cgroup": "5:cpuset:/docker/abc\n3:cpuacct,cpu:/docker/abc\n0::/\n",
		"proc/self/mountinfo": "31 23 0:27 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n" +
			"40 23 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
		"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":  quota + "\n",
		"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": period + "\n",
		"sys/fs/cgroup/cpu,cpuacct/cpuacct.usage":     "5000000000\n",
	}
}

// oneSecond reads the signal of one second in which what use says was used.
func oneSecond(c *ladder.CPU, use func()) ladder.Reading {
	time.Sleep(time.Second) // in a bubble: no real time, so the process uses none
	use()
	return c.Read()
}

func TestUtilisationIsOfTheQuotaNotOfTheHost(t *testing.T) {
	for _, quota := range []float64{0.5, 1.999, 2, 8.5} {
		t.Run(fmt.Sprintf("version 2, %v processors", quota), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, version2(fmt.Sprintf("%d 100000", int(quota*100000))))
				c := ladder.NewCPU(h.root)
				r := oneSecond(c, func() {
					h.write("sys/fs/cgroup/pod/box/cpu.stat", fmt.Sprintf("usage_usec %d\n", 1000000+int(quota*1e6)))
				})
				require.True(t, r.OK)
				require.InDelta(t, 1.0, r.Value, 1e-6)
				require.Equal(t, time.Now(), r.At)
				require.Equal(t, "cgroup v2", c.Source())
			})
		})
		t.Run(fmt.Sprintf("version 1, %v processors", quota), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, version1(fmt.Sprint(int(quota*50000)), "50000"))
				c := ladder.NewCPU(h.root)
				r := oneSecond(c, func() {
					h.write("sys/fs/cgroup/cpu,cpuacct/cpuacct.usage", fmt.Sprint(5000000000+int64(quota*0.4e9)))
				})
				require.True(t, r.OK)
				require.InDelta(t, 0.4, r.Value, 1e-4)
				require.Equal(t, "cgroup v1", c.Source())
			})
		})
	}
}

func TestTheTightestQuotaAboveCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, version2("400000 100000"))
		h.write("sys/fs/cgroup/pod/cpu.max", "100000 100000")
		c := ladder.NewCPU(h.root)
		r := oneSecond(c, func() {
			h.write("sys/fs/cgroup/pod/box/cpu.stat", "usage_usec 1300000\n")
			h.write("sys/fs/cgroup/pod/cpu.stat", "usage_usec 900000\n")
		})
		require.InDelta(t, 0.9, r.Value, 1e-6)
		r = oneSecond(c, func() { // resized in place
			h.write("sys/fs/cgroup/pod/cpu.max", "200000 100000")
			h.write("sys/fs/cgroup/pod/cpu.stat", "usage_usec 1900000\n")
		})
		require.InDelta(t, 0.5, r.Value, 1e-6)
		r = oneSecond(c, func() { // only the pod is limited now
			h.write("sys/fs/cgroup/pod/box/cpu.max", "max 100000")
			h.write("sys/fs/cgroup/pod/box/cpu.stat", "usage_usec 2900000\n")
			h.write("sys/fs/cgroup/pod/cpu.stat", "usage_usec 3700000\n")
		})
		require.InDelta(t, 0.9, r.Value, 1e-6)
	})
}

func TestWithoutAQuotaTheProcessIsMeasured(t *testing.T) {
	noFiles := map[string]string{}
	noQuotaFile := version2("max 100000")
	delete(noQuotaFile, "sys/fs/cgroup/pod/box/cpu.max")
	noMount := version2("200000 100000")
	delete(noMount, "proc/self/mountinfo")
	for name, files := range map[string]map[string]string{
		"no files": noFiles, "no mount": noMount, "no quota file": noQuotaFile,
		"unlimited v2": version2("max 100000"), "unlimited v1": version1("-1", "100000"),
	} {
		t.Run(name, func(t *testing.T) {
			c := ladder.NewCPU(newHost(t, files).root)
			for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
			}
			r := c.Read()
			require.True(t, r.OK)
			require.Positive(t, r.Value)
			require.LessOrEqual(t, r.Value, 1.1)
			require.Equal(t, "process", c.Source())
		})
	}
}

func TestAQuotaWithoutAPeriodIsNoReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, version1("50000", "50000"))
		h.remove("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us")
		require.False(t, oneSecond(ladder.NewCPU(h.root), func() {}).OK)
	})
}

func TestAGroupMayHaveAColonInItsName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, map[string]string{
			"proc/self/cgroup":                 "0::/a:b\n",
			"proc/self/mountinfo":              version2("")["proc/self/mountinfo"],
			"sys/fs/cgroup/a:b/cpu.max":        "100000 100000\n",
			"sys/fs/cgroup/a:b/cpu.stat":       "usage_usec 0\n",
			"sys/fs/cgroup/cpu.stat":           "usage_usec 0\n",
			"sys/fs/cgroup/unrelated/cpu.stat": "usage_usec 0\n",
		})
		c := ladder.NewCPU(h.root)
		r := oneSecond(c, func() { h.write("sys/fs/cgroup/a:b/cpu.stat", "usage_usec 700000\n") })
		require.InDelta(t, 0.7, r.Value, 1e-6)
		require.Equal(t, "cgroup v2", c.Source())
	})
}

// What cannot be read is no reading; it is never idleness.
func TestABrokenCgroupIsNoReading(t *testing.T) {
	for name, spoil := range map[string]func(h host){
		"quota garbled":  func(h host) { h.write("sys/fs/cgroup/pod/box/cpu.max", "lots\n") },
		"quota absurd":   func(h host) { h.write("sys/fs/cgroup/pod/box/cpu.max", "1e999 100000\n") },
		"quota zero":     func(h host) { h.write("sys/fs/cgroup/pod/box/cpu.max", "0 100000\n") },
		"period zero":    func(h host) { h.write("sys/fs/cgroup/pod/box/cpu.max", "100000 0\n") },
		"usage gone":     func(h host) { h.remove("sys/fs/cgroup/pod/box/cpu.stat") },
		"usage garbled":  func(h host) { h.write("sys/fs/cgroup/pod/box/cpu.stat", "usage_usec many\n") },
		"usage negative": func(h host) { h.write("sys/fs/cgroup/pod/box/cpu.stat", "usage_usec -5\n") },
		"usage backward": func(h host) { h.write("sys/fs/cgroup/pod/box/cpu.stat", "usage_usec 3\n") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHost(t, version2("200000 100000"))
				c := ladder.NewCPU(h.root)
				require.False(t, oneSecond(c, func() { spoil(h) }).OK)
				for name, content := range version2("200000 100000") { // and it heals
					h.write(name, content)
				}
				oneSecond(c, func() {})
				require.True(t, oneSecond(c, func() {}).OK)

				h = newHost(t, version2("200000 100000"))
				spoil(h) // from the beginning
				c = ladder.NewCPU(h.root)
				if name != "usage backward" { // which is a small number, then
					require.False(t, oneSecond(c, func() {}).OK)
				}
			})
		})
	}
	for name, usage := range map[string]string{"garbled": "many\n", "negative": "-5\n", "empty": ""} {
		t.Run("version 1, usage "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				files := version1("50000", "50000")
				files["sys/fs/cgroup/cpu,cpuacct/cpuacct.usage"] = usage
				require.False(t, oneSecond(ladder.NewCPU(newHost(t, files).root), func() {}).OK)
			})
		})
	}
}

func TestNoTimeNoReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		require.False(t, ladder.NewCPU(t.TempDir()).Read().OK)
	})
}

func TestPressureIsTheGroupsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, version2("max 100000"))
		p := ladder.NewPSI(h.root)
		read := func(total int) ladder.Reading {
			time.Sleep(time.Second)
			h.write("sys/fs/cgroup/pod/box/cpu.pressure", fmt.Sprintf("some avg10=9.00 avg60=9.00 avg300=9.00 total=%d\nfull avg10=0 total=0\n", total))
			return p.Read()
		}
		require.InDelta(t, 0.8, read(501000).Value, 1e-6)
		require.InDelta(t, 1.0, read(1501000).Value, 1e-6)
		require.InDelta(t, 0.0, read(1501000).Value, 1e-6)
		require.False(t, read(5).OK, "it went back")
		require.True(t, read(6).OK)
		h.remove("sys/fs/cgroup/pod/box/cpu.pressure")
		require.False(t, p.Read().OK)
	})
}

func TestPressureOfTheMachineOrNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := maps.Clone(version1("-1", "100000"))
		files["proc/pressure/cpu"] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n"
		h := newHost(t, files)
		p := ladder.NewPSI(h.root)
		time.Sleep(2 * time.Second)
		h.write("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=501000\n")
		r := p.Read()
		require.InDelta(t, 0.4, r.Value, 1e-6)
		require.Equal(t, time.Now(), r.At)

		none := ladder.NewPSI(t.TempDir())
		time.Sleep(time.Second)
		require.False(t, none.Read().OK)
	})
}

// On this very machine, whatever it has.
func TestSignalsOfTheRealMachine(t *testing.T) {
	c, p := ladder.NewCPU("/"), ladder.NewPSI("/")
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		runtime.Gosched()
	}
	if r := c.Read(); r.OK {
		require.Positive(t, r.Value)
		require.NotEmpty(t, c.Source())
	}
	if r := p.Read(); r.OK {
		require.LessOrEqual(t, r.Value, 1.1)
	}
}
