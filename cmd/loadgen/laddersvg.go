package main

import (
	"fmt"
	"io"
	"math"
)

// The picture of a sweep: left, turns against delay on a logarithmic scale;
// right, turns per run for each pair of gains.
const (
	svgWidth, svgHeight = 960, 430
	plotTop, plotHeight = 60, 280
	delayLeft, delayW   = 60, 400
	gainLeft, gainW     = 570, 360
	mostTurns           = 1500.0
)

// Colours that stay apart for all common kinds of colour blindness, and dashes
// for those who see none.
var lineStyles = [][2]string{{"#0072b2", ""}, {"#e69f00", "6 3"}, {"#b03a2e", "2 3"}}

func (r sweepResult) draw(w io.Writer) {
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" role="img" aria-label="Turns of the level against the sensor's delay, and against both gains">
<rect width="100%%" height="100%%" fill="#ffffff"/>
`, svgWidth, svgHeight)
	r.drawDelays(w)
	r.drawGains(w)
	fmt.Fprintln(w, "</svg>")
}

// turnsY is the height of a number of turns, of 0.5 and more.
func turnsY(turns float64) float64 {
	share := math.Log(max(turns, 0.5)/0.5) / math.Log(mostTurns/0.5)
	return plotTop + plotHeight*(1-share)
}

func delayX(i int) float64 {
	return delayLeft + delayW*float64(i)/float64(len(sweepDelays)-1)
}

func text(w io.Writer, x, y float64, anchor, format string, args ...any) {
	fmt.Fprintf(w, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, fmt.Sprintf(format, args...))
}

func (r sweepResult) drawDelays(w io.Writer) {
	text(w, delayLeft, 24, "start", "Turns of the level in a 20-minute overload, by the sensor's delay")
	for _, turns := range []float64{1, rings, 10, 100, 1000} {
		y := turnsY(turns)
		stroke := "#dddddd"
		if turns == rings {
			stroke = "#555555"
			text(w, delayLeft+delayW+6, y-4, "start", "above,")
			text(w, delayLeft+delayW+6, y+10, "start", "it rings")
		}
		fmt.Fprintf(w, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="%s"/>`+"\n", delayLeft, y, delayLeft+delayW, y, stroke)
		text(w, delayLeft-6, y+4, "end", "%v", turns)
	}
	for i, d := range sweepDelays {
		text(w, delayX(i), plotTop+plotHeight+18, "middle", "%v s", d)
	}
	for l, law := range sweepLaws {
		for t, tick := range sweepTicks {
			points := ""
			for i, c := range r.delays[l][t] {
				points += fmt.Sprintf("%.1f,%.1f ", delayX(i), turnsY(c.reversals))
			}
			fmt.Fprintf(w, `<polyline fill="none" stroke="%s" stroke-dasharray="%s" stroke-width="%.1f" points="%s"><title>%s, tick %v s</title></polyline>`+"\n",
				lineStyles[l][0], lineStyles[l][1], 2.6-0.8*float64(t), points, law, tick)
		}
		x, y := float64(delayLeft+[]int{0, 110, 270}[l]), float64(plotTop+plotHeight+46)
		fmt.Fprintf(w, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-dasharray="%s" stroke-width="2.6"/>`+"\n",
			x, y-4, x+24, y-4, lineStyles[l][0], lineStyles[l][1])
		text(w, x+30, y, "start", "%s", law)
	}
	text(w, delayLeft, plotTop+plotHeight+68, "start", "thick to thin: a tick of %v, %v and %v s", sweepTicks[0], sweepTicks[1], sweepTicks[2])
}

func (r sweepResult) drawGains(w io.Writer) {
	text(w, gainLeft, 24, "start", "Turns per run, by the gain of both directions")
	text(w, gainLeft, 42, "start", "across: restore rates, down: shed rates, times the default")
	n := float64(len(sweepGains))
	cw, ch := gainW/n, plotHeight/n
	for i, g := range sweepGains {
		text(w, gainLeft-6, plotTop+ch*(float64(i)+0.5)+4, "end", "x%v", g)
		text(w, gainLeft+cw*(float64(i)+0.5), plotTop+plotHeight+18, "middle", "x%v", g)
		for j, c := range r.gains[i] {
			x, y := gainLeft+cw*float64(j), plotTop+ch*float64(i)
			shade := min(1, c.reversals/12)
			fmt.Fprintf(w, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#0072b2" fill-opacity="%.2f" stroke="#ffffff"/>`+"\n", x, y, cw, ch, 0.05+0.6*shade)
			text(w, x+cw/2, y+ch/2+4, "middle", "%.1f", c.reversals)
		}
	}
	text(w, gainLeft, plotTop+plotHeight+46, "start", "mean of eight scenarios, one of which needs 11 turns")
}
