package main

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/weir-go/weir/bench/internal/workload"
)

// chart is lines over the number of keys, both axes logarithmic.
type chart struct {
	title, unit string
	lines       []line
}

// line is one contestant.
type line struct {
	name   string
	weir   bool
	points []point // by number of keys
}

type point struct{ keys, value float64 }

// costChart is the cost of a rate check on one core.
func (in inputs) costChart() chart {
	return in.chart("Nanoseconds for one decision, by number of keys (one core, uniform)", "ns",
		func(ns, _ float64) float64 { return ns })
}

// memoryChart is what a key takes.
func (in inputs) memoryChart() chart {
	return in.chart("Bytes for one key, by number of keys", "B",
		func(_, bytes float64) float64 { return bytes })
}

func (in inputs) chart(title, unit string, of func(ns, bytes float64) float64) chart {
	c := chart{title: title, unit: unit}
	for _, t := range in.versus.Tables {
		if t.Group != "rate" || t.Cores != 1 || t.Dist != string(workload.Uniform) {
			continue
		}
		for _, r := range t.Rows {
			i := slices.IndexFunc(c.lines, func(l line) bool { return l.name == r.Name })
			if i < 0 {
				i = len(c.lines)
				c.lines = append(c.lines, line{name: r.Name, weir: r.Weir})
			}
			l := &c.lines[i]
			l.points = append(l.points, point{float64(t.Keys), of(r.NS.Median, r.BytesPerKey)})
		}
	}
	for _, l := range c.lines {
		slices.SortFunc(l.points, func(a, b point) int { return cmp.Compare(a.keys, b.keys) })
	}
	slices.SortStableFunc(c.lines, func(a, b line) int { return cmp.Compare(a.name, b.name) })
	return c
}

// The layout in pixels.
const (
	width, height            = 860, 480
	left, right, top, bottom = 60, 210, 50, 50
	labelHeight              = 16
)

// Colours that stay apart for the colour-blind and on a dark page; the dashes
// tell the lines apart where colour does not.
var (
	colours = []string{"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999", "#b8a400"}
	dashes  = []string{"6 3", "2 3", "10 3", "8 3 2 3", "4 4", "12 4", "1 3", "5 2 1 2"}
)

// svg draws the chart.
func (c chart) svg() string {
	x, y := c.scales()
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12" role="img">`+"\n", width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n<style>text{fill:#333}.grid{stroke:#ccc;stroke-width:1}@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#555}}</style>\n", html.EscapeString(c.title))
	fmt.Fprintf(&b, `<text x="%d" y="24" font-size="15">%s</text>`+"\n", left, html.EscapeString(c.title))
	for _, v := range y.ticks() {
		fmt.Fprintf(&b, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text x="%d" y="%.1f" text-anchor="end">%g %s</text>`+"\n",
			left, width-right, y.at(v), y.at(v), left-6, y.at(v)+4, v, c.unit)
	}
	for _, v := range x.decades() {
		fmt.Fprintf(&b, `<line class="grid" y1="%d" y2="%d" x1="%.1f" x2="%.1f"/><text y="%d" x="%.1f" text-anchor="middle">%s keys</text>`+"\n",
			top, height-bottom, x.at(v), x.at(v), height-bottom+20, x.at(v), workload.Count(int(v)))
	}
	type label struct {
		y       float64
		text    string
		colour  string
		bold    bool
		pointAt float64
	}
	var labels []label
	peer := 0
	for _, l := range c.lines {
		stroke, dash, size := "currentColor", "", 3.0
		if l.weir {
			stroke = "#c00000"
			if strings.Contains(l.name, "four") {
				stroke = "#f06060"
			}
		} else {
			stroke, dash, size = colours[peer%len(colours)], dashes[peer%len(dashes)], 1.6
			peer++
		}
		var pts []string
		for _, p := range l.points {
			pts = append(pts, fmt.Sprintf("%.1f,%.1f", x.at(p.keys), y.at(p.value)))
		}
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="%g" stroke-dasharray="%s" points="%s"><title>%s</title></polyline>`+"\n",
			stroke, size, dash, strings.Join(pts, " "), html.EscapeString(l.name))
		last := l.points[len(l.points)-1]
		labels = append(labels, label{y.at(last.value), fmt.Sprintf("%s  %s %s", l.name, figure(last.value), c.unit), stroke, l.weir, y.at(last.value)})
	}
	// Labels stand at their lines' ends, moved apart where they would overlap.
	slices.SortFunc(labels, func(a, b label) int { return cmp.Compare(a.y, b.y) })
	for i := 1; i < len(labels); i++ {
		labels[i].y = max(labels[i].y, labels[i-1].y+labelHeight)
	}
	if n := len(labels); n > 0 {
		labels[n-1].y = min(labels[n-1].y, height-bottom+4)
		for i := n - 2; i >= 0; i-- {
			labels[i].y = min(labels[i].y, labels[i+1].y-labelHeight)
		}
	}
	for _, l := range labels {
		weight := "normal"
		if l.bold {
			weight = "bold"
		}
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" points="%d,%.1f %d,%.1f"/><text x="%d" y="%.1f" font-weight="%s">%s</text>`+"\n",
			l.colour, width-right, l.pointAt, width-right+12, l.y, width-right+15, l.y+4, weight, html.EscapeString(l.text))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// scale maps values to pixels by their logarithm.
type scale struct{ lo, hi, from, to float64 }

func (s scale) at(v float64) float64 {
	if s.hi == s.lo {
		return s.from
	}
	return s.from + (s.to-s.from)*(math.Log(v)-math.Log(s.lo))/(math.Log(s.hi)-math.Log(s.lo))
}

// decades are the powers of ten in the scale.
func (s scale) decades() []float64 {
	var out []float64
	for v := math.Pow(10, math.Ceil(math.Log10(s.lo)-1e-9)); v <= s.hi*(1+1e-9); v *= 10 {
		out = append(out, v)
	}
	return out
}

// ticks are the decades and their halves and fifths.
func (s scale) ticks() []float64 {
	var out []float64
	for v := math.Pow(10, math.Floor(math.Log10(s.lo))); v <= s.hi; v *= 10 {
		for _, m := range []float64{1, 2, 5} {
			if t := v * m; t >= s.lo*(1-1e-9) && t <= s.hi*(1+1e-9) {
				out = append(out, t)
			}
		}
	}
	return out
}

// scales fit all points.
func (c chart) scales() (x, y scale) {
	x = scale{math.Inf(1), 0, left, width - right}
	y = scale{math.Inf(1), 0, height - bottom, top}
	for _, l := range c.lines {
		for _, p := range l.points {
			x.lo, x.hi = min(x.lo, p.keys), max(x.hi, p.keys)
			y.lo, y.hi = min(y.lo, p.value), max(y.hi, p.value)
		}
	}
	y.lo, y.hi = y.lo*0.9, y.hi*1.1
	return x, y
}
