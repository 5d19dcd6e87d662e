package ladder

import (
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Some task waits for a processor half of the time on a handful of processors
// that are 80 % busy; all of the time, they are behind.
const (
	psiTarget = 0.5
	psiFull   = 1.0
)

// PSI is the kernel's account of pressure on the processor: the share of time in
// which some task was ready and waited, since the last reading. Half of the time
// is 0.8, all of it is 1. It is the process's control group's where that keeps
// one, else the machine's. The running total is differenced; the kernel's own
// averages are a second filter and would only add delay.
type PSI struct {
	mu    sync.Mutex
	file  string
	total time.Duration
	at    time.Time
	ok    bool
}

// NewPSI returns the signal, measuring from now on. root is where proc and sys
// are found, "/" but in tests. Many kernels keep no such account: then every
// reading is none.
func NewPSI(root string) *PSI {
	p := &PSI{file: filepath.Join(root, "proc/pressure/cpu")}
	if g := findCgroups(root); g.version == "cgroup v2" && len(g.levels) > 0 {
		own := filepath.Join(g.levels[0].quotaDir, "cpu.pressure")
		if _, ok := stalled(own); ok {
			p.file = own
		}
	}
	p.total, p.ok = stalled(p.file)
	p.at = time.Now()
	return p
}

// Read returns the signal.
func (p *PSI) Read() Reading {
	p.mu.Lock()
	defer p.mu.Unlock()
	total, ok := stalled(p.file)
	now := time.Now()
	grown, elapsed := (total - p.total).Seconds(), now.Sub(p.at).Seconds()
	known := p.ok && ok
	p.total, p.at, p.ok = total, now, ok
	if !known || elapsed <= 0 || grown < 0 {
		return Reading{}
	}
	return Reading{Value: ramp(grown/elapsed, psiTarget, psiFull), At: now, OK: true}
}

// stalled is for how long some task has waited, from a line like
// "some avg10=0.12 avg60=0.05 avg300=0.01 total=123456", in microseconds.
func stalled(file string) (time.Duration, bool) {
	for _, line := range readLines(file) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "some" {
			continue
		}
		micros, found := strings.CutPrefix(f[len(f)-1], "total=")
		n, err := strconv.ParseInt(micros, 10, 64)
		return time.Duration(n) * time.Microsecond, found && err == nil && n >= 0
	}
	return 0, false
}
