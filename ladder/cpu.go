package ladder

import (
	"runtime"
	"sync"
	"time"
)

// CPU is the signal of a service that computes: processor time used since the
// last reading, as a share of what there is. That is the larger of two: each
// control group's use against its quota (versions 1 and 2, fractions of a
// processor included), and the process's own use against GOMAXPROCS. A host's
// processors do not come into it. 1 is all; it cannot see how much more is asked
// for, and busy processors alone are no overload.
type CPU struct {
	mu     sync.Mutex
	groups cgroups
	last   cpuTimes
	source string
}

// cpuTimes is what was used by a moment.
type cpuTimes struct {
	at        time.Time
	process   time.Duration
	processOK bool
	groups    []time.Duration
	groupsOK  []bool
}

// NewCPU returns the signal, measuring from now on. root is where proc and sys
// are found, "/" but in tests; where there are no control groups the process
// alone is measured.
func NewCPU(root string) *CPU {
	c := &CPU{groups: findCgroups(root)}
	c.last = c.times()
	return c
}

// Source says what the last reading came from: "cgroup v1", "cgroup v2" or
// "process"; "" before the first one.
func (c *CPU) Source() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.source
}

// Read returns the signal. When a quota or what was used of it cannot be read,
// it is no reading.
func (c *CPU) Read() Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	prev, now := c.last, c.times()
	c.last = now
	elapsed := now.at.Sub(prev.at).Seconds()
	if elapsed <= 0 {
		return Reading{}
	}
	r := Reading{At: now.at}
	take := func(used time.Duration, cores float64, source string) {
		if v := used.Seconds() / (elapsed * cores); !r.OK || v > r.Value {
			r.Value, r.OK, c.source = v, true, source
		}
	}
	for i, g := range c.groups.levels {
		cores, limited, ok := g.quota()
		if !ok {
			return Reading{}
		}
		if !limited {
			continue
		}
		if !now.groupsOK[i] || !prev.groupsOK[i] || now.groups[i] < prev.groups[i] {
			return Reading{}
		}
		take(now.groups[i]-prev.groups[i], cores, c.groups.version)
	}
	if now.processOK && prev.processOK {
		take(now.process-prev.process, float64(runtime.GOMAXPROCS(0)), "process")
	}
	return r
}

func (c *CPU) times() cpuTimes {
	t := cpuTimes{at: time.Now()}
	for _, g := range c.groups.levels {
		used, ok := g.used()
		t.groups, t.groupsOK = append(t.groups, used), append(t.groupsOK, ok)
	}
	t.process, t.processOK = processTime()
	return t
}
