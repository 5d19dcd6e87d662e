package report

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// The drawing, in the units of its view box.
const (
	chartWidth, chartHeight   = 640, 260
	left, right, top, bottom  = 56, 12, 26, 34
	plotWidth                 = chartWidth - left - right
	plotHeight                = chartHeight - top - bottom
	styles                    = 6    // of lines, in page.html
	maxPoints                 = 1200 // drawn per line: more than there are pixels
	wantedTicks, wantedTicksX = 4, 8
)

// axis maps values to places.
type axis struct {
	lo, hi float64
	log    bool
}

func (a axis) at(v float64) float64 {
	if a.log {
		return (math.Log10(max(v, math.Pow(10, a.lo))) - a.lo) / (a.hi - a.lo)
	}
	return (v - a.lo) / (a.hi - a.lo)
}

// ticks are round values on the axis.
func (a axis) ticks(wanted int) (all []float64) {
	if a.log {
		for e := math.Ceil(a.lo); e <= a.hi; e++ {
			all = append(all, math.Pow(10, e))
		}
		return all
	}
	raw := (a.hi - a.lo) / float64(wanted)
	step := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5, 10} {
		if step*m >= raw {
			step *= m
			break
		}
	}
	for v := math.Ceil(a.lo/step) * step; v <= a.hi+step/1e6; v += step {
		all = append(all, v)
	}
	return all
}

// axes fits the chart's points. A linear Y axis begins at 0 or below.
func (c Chart) axes() (x, y axis) {
	inf := math.Inf(1)
	x, y = axis{lo: inf, hi: -inf}, axis{lo: inf, hi: -inf, log: c.Log}
	for _, s := range c.Series {
		for i := range min(len(s.X), len(s.Y)) {
			if !finite(s.X[i]) || !finite(s.Y[i]) || c.Log && s.Y[i] <= 0 {
				continue
			}
			x.lo, x.hi = min(x.lo, s.X[i]), max(x.hi, s.X[i])
			y.lo, y.hi = min(y.lo, s.Y[i]), max(y.hi, s.Y[i])
		}
	}
	if x.lo > x.hi {
		return axis{0, 1, false}, axis{0, 1, false} // nothing to draw
	}
	if x.lo == x.hi {
		x.hi = x.lo + 1
	}
	if c.Log {
		y.lo, y.hi = math.Floor(math.Log10(y.lo)), math.Ceil(math.Log10(y.hi))
	} else {
		y.lo = min(y.lo, 0)
	}
	if y.lo == y.hi {
		y.hi = y.lo + 1
	}
	return x, y
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// svg draws the chart. All text in it is escaped.
func (c Chart) svg() string {
	var b strings.Builder
	x, y := c.axes()
	px := func(v float64) float64 { return left + x.at(v)*plotWidth }
	py := func(v float64) float64 { return top + (1-y.at(v))*plotHeight }
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, chartWidth, chartHeight, html.EscapeString(c.Title))
	for _, v := range y.ticks(wantedTicks) {
		fmt.Fprintf(&b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`,
			left, chartWidth-right, py(v), py(v), left-6, py(v)+4, number(v))
	}
	for _, v := range x.ticks(wantedTicksX) {
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`,
			px(v), px(v), top, chartHeight-bottom, px(v), chartHeight-bottom+14, number(v))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text><text x="%d" y="%d">%s</text>`,
		chartWidth-right, chartHeight-4, html.EscapeString(c.X), 4, 12, html.EscapeString(c.Y))
	for _, m := range c.Marks {
		if m.X < x.lo || m.X > x.hi {
			continue
		}
		fmt.Fprintf(&b, `<line class="mark" x1="%.1f" x2="%.1f" y1="%d" y2="%d"/><text x="%.1f" y="%d">%s</text>`,
			px(m.X), px(m.X), top, chartHeight-bottom, px(m.X)+3, top+10, html.EscapeString(m.Text))
	}
	legend := float64(chartWidth - right)
	for i := len(c.Series) - 1; i >= 0; i-- {
		s := c.Series[i]
		for _, points := range s.pieces(c.Log) {
			fmt.Fprintf(&b, `<polyline class="s%d" points="`, i%styles)
			for _, p := range points {
				fmt.Fprintf(&b, "%.1f,%.1f ", px(s.X[p]), py(s.Y[p]))
			}
			b.WriteString(`"/>`)
		}
		// The legend stands to the right, in the order of the series.
		legend -= 7 * float64(len([]rune(s.Name)))
		fmt.Fprintf(&b, `<text x="%.0f" y="12">%s</text>`, legend, html.EscapeString(s.Name))
		legend -= 24
		fmt.Fprintf(&b, `<line class="s%d" stroke-width="2" x1="%.0f" x2="%.0f" y1="8" y2="8"/>`, i%styles, legend, legend+20)
		legend -= 12
	}
	b.WriteString(`</svg>`)
	return b.String()
}

// pieces are the indices of the points to draw, cut where a value is missing.
// Of long lines the least and the most of each stretch stay, so that no peak
// is lost.
func (s Series) pieces(log bool) (all [][]int) {
	n := min(len(s.X), len(s.Y))
	stride := (2*n + maxPoints - 1) / maxPoints
	var piece []int
	for i := 0; i < n; i += max(stride, 1) {
		least, most := -1, -1
		for j := i; j < min(i+max(stride, 1), n); j++ {
			if !finite(s.X[j]) || !finite(s.Y[j]) || log && s.Y[j] <= 0 {
				continue
			}
			if least < 0 || s.Y[j] < s.Y[least] {
				least = j
			}
			if most < 0 || s.Y[j] > s.Y[most] {
				most = j
			}
		}
		switch {
		case least < 0:
			if len(piece) > 0 {
				all, piece = append(all, piece), nil
			}
		case least == most:
			piece = append(piece, least)
		default:
			piece = append(piece, min(least, most), max(least, most))
		}
	}
	if len(piece) > 0 {
		all = append(all, piece)
	}
	return all
}

// number is a tick's label.
func number(v float64) string {
	if v == 0 {
		return "0"
	}
	if a := math.Abs(v); a >= 1e6 || a < 1e-3 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(math.Round(v*1e4)/1e4, 'f', -1, 64)
}
