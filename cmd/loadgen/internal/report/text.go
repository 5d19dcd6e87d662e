package report

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// WriteText writes the table with its columns aligned, each line behind
// indent.
func (t Table) WriteText(w io.Writer, indent string) error {
	widths := make([]int, len(t.Columns))
	rows := append([][]string{t.Columns}, t.Rows...)
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "%s%s\n", indent, t.Title)
	}
	for _, r := range rows {
		line := indent
		for i, c := range r {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i == 0 {
				line += c + pad
			} else {
				line += "  " + pad + c
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Duration is a latency with three significant digits.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Duration(-d)
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < time.Millisecond:
		return digits(float64(d)/1e3) + " µs"
	case d < time.Second:
		return digits(float64(d)/1e6) + " ms"
	}
	return digits(d.Seconds()) + " s"
}

// digits writes a number of at least 1 with three significant digits, and more
// only in front of the point.
func digits(f float64) string {
	switch {
	case f < 9.995:
		return fmt.Sprintf("%.2f", f)
	case f < 99.95:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}

// Percent is a share as a percentage that never rounds up to 100 and never
// down to 0: 99.96 % of success is not all of it.
func Percent(share float64) string {
	switch p := 100 * share; {
	case share >= 1:
		return "100 %"
	case share <= 0:
		return "0 %"
	case p < 0.1:
		return "<0.1 %"
	default:
		return fmt.Sprintf("%.1f %%", min(p, 99.9))
	}
}
