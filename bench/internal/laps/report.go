package laps

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/weir-go/weir/bench/internal/workload"
)

// Report is everything one run measured.
type Report struct {
	Machine Machine  `json:"machine"`
	Tables  []Table  `json:"tables,omitempty"`
	Budgets []Budget `json:"budgets"`
	Figures []Figure `json:"figures,omitempty"`
}

// Machine is where and with what figures were measured.
type Machine struct {
	CPU     string            `json:"cpu"`
	Cores   int               `json:"cores"`
	OS      string            `json:"os"`
	Go      string            `json:"go"`
	When    time.Time         `json:"when"`
	Modules map[string]string `json:"modules"` // their versions in the program
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

// Table is the contestants of one group at one size.
type Table struct {
	Group string `json:"group"`
	What  string `json:"what"`
	Keys  int    `json:"keys"`
	Dist  string `json:"dist"`
	Cores int    `json:"cores"`
	Rows  []Row  `json:"rows"` // the fastest first
}

// Row is one contestant in a table.
type Row struct {
	Name        string   `json:"name"`
	Module      string   `json:"module"`
	Version     string   `json:"version"`
	Note        string   `json:"note"` // how it is used
	Weir        bool     `json:"weir"`
	NS          Measured `json:"ns"`    // per decision, of one core
	Ratio       Measured `json:"ratio"` // to the table's first weir, round by round
	Mallocs     float64  `json:"mallocs"`
	BytesPerKey float64  `json:"bytesPerKey"` // 0: keeps nothing per key
	Laps        []Lap    `json:"-"`
}

// FastestPeer is the fastest row that is not weir's.
func (t Table) FastestPeer() (Row, bool) {
	return t.find(func(r Row) bool { return !r.Weir })
}

// Row is the row of that name.
func (t Table) Row(name string) (Row, bool) {
	return t.find(func(r Row) bool { return r.Name == name })
}

func (t Table) find(is func(Row) bool) (Row, bool) {
	i := slices.IndexFunc(t.Rows, is)
	if i < 0 {
		return Row{}, false
	}
	return t.Rows[i], true
}

// Title says what is compared in the table.
func (t Table) Title() string {
	if t.Keys == 1 {
		return fmt.Sprintf("%s, %d core(s)", t.What, t.Cores)
	}
	return fmt.Sprintf("%s: %s keys, %s, %d core(s)", t.What, workload.Count(t.Keys), t.Dist, t.Cores)
}

// Figure is a measurement that explains a budget or stands beside it.
type Figure struct {
	Name     string   `json:"name"`
	Unit     string   `json:"unit"`
	Measured Measured `json:"measured"`
}

// Figure adds one.
func (r *Report) Figure(name, unit string, m Measured) {
	r.Figures = append(r.Figures, Figure{Name: name, Unit: unit, Measured: m})
}

// Write prints the report, and writes it as JSON where there is a path.
func (r *Report) Write(w io.Writer, jsonPath string) error {
	if err := r.Print(w); err != nil {
		return err
	}
	return r.WriteJSON(jsonPath)
}

// Print writes everything as text.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s, %d cores, %s, %s\n", r.Machine.CPU, r.Machine.Cores, r.Machine.OS, r.Machine.Go)
	for _, t := range r.Tables {
		fmt.Fprintf(w, "\n%s\n", t.Title())
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(tw, "ns\tmiddle half\t× weir\tallocs\tB/key\t contestant\t")
		for _, row := range t.Rows {
			fmt.Fprintf(tw, "%.1f\t%.1f–%.1f\t%.2f\t%.2f\t%.0f\t %s %s\t\n",
				row.NS.Median, row.NS.Low, row.NS.High, row.Ratio.Median, row.Mallocs, row.BytesPerKey, row.Name, row.Version)
		}
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "\twhat\tmust\taim\tmeasured\tmiddle half\t")
	for _, b := range r.Budgets {
		fmt.Fprintf(tw, "%s\t%s\t%s %.4g\t%.4g\t%.3g%s\t%.3g–%.3g\t%s\n",
			b.ID, b.What, b.Bound, b.Must, b.Aim, b.Measured.Median, b.Unit, b.Measured.Low, b.Measured.High, b.Verdict())
	}
	fmt.Fprintln(tw)
	for _, f := range r.Figures {
		fmt.Fprintf(tw, "\t%s\t\t\t%.4g %s\t%.4g–%.4g\t\n", f.Name, f.Measured.Median, f.Unit, f.Measured.Low, f.Measured.High)
	}
	return tw.Flush()
}

// WriteJSON writes the report to a file, or nothing when path is empty.
func (r *Report) WriteJSON(path string) error {
	if path == "" {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// ReadJSON reads what WriteJSON wrote.
func ReadJSON(path string) (*Report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Report)
	return r, json.Unmarshal(data, r)
}
