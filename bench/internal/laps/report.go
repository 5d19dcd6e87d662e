package laps

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"
)

// Machine is where and with what figures were measured.
type Machine struct {
	CPU   string    `json:"cpu"`
	Cores int       `json:"cores"`
	OS    string    `json:"os"`
	Go    string    `json:"go"`
	When  time.Time `json:"when"`
	// Modules are the versions of the modules in the program.
	Modules map[string]string `json:"modules"`
}

// ThisMachine describes the machine and the program.
func ThisMachine() Machine {
	m := Machine{
		CPU:     cpuName(),
		Cores:   runtime.NumCPU(),
		OS:      runtime.GOOS + "/" + runtime.GOARCH,
		Go:      runtime.Version(),
		When:    time.Now().UTC().Truncate(time.Second),
		Modules: map[string]string{},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			m.Modules[d.Path] = d.Version
		}
	}
	return m
}

func cpuName() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// Bound says on which side of its must and aim a figure has to be.
type Bound string

// The bounds.
const (
	AtMost  Bound = "≤"
	AtLeast Bound = "≥"
)

// Budget is one row of the table of budgets: a figure beside what it must be
// and what it is aimed to be.
type Budget struct {
	ID       string   `json:"id"`
	What     string   `json:"what"`
	Bench    string   `json:"bench"` // the benchmark with the same subject
	Unit     string   `json:"unit"`
	Bound    Bound    `json:"bound"`
	Must     float64  `json:"must"`
	Aim      float64  `json:"aim"`
	Measured Measured `json:"measured"`
}

// Verdict is "aim", "must" or "MISSED".
func (b Budget) Verdict() string {
	switch {
	case b.within(b.Aim):
		return "aim"
	case b.within(b.Must):
		return "must"
	}
	return "MISSED"
}

func (b Budget) within(limit float64) bool {
	if b.Bound == AtLeast {
		return b.Measured.Median >= limit
	}
	return b.Measured.Median <= limit
}

// PrintBudgets prints the rows as a table.
func PrintBudgets(w io.Writer, rows []Budget) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\twhat\tmust\taim\tmeasured\tmiddle half\t")
	for _, b := range rows {
		fmt.Fprintf(tw, "%s\t%s\t%s %.4g\t%.4g\t%.3g%s\t%.3g–%.3g\t%s\n",
			b.ID, b.What, b.Bound, b.Must, b.Aim, b.Measured.Median, b.Unit, b.Measured.Low, b.Measured.High, b.Verdict())
	}
	return tw.Flush()
}

// WriteJSON writes v to a file, or nothing when path is empty.
func WriteJSON(path string, v any) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
