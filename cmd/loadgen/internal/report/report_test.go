package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weir-go/weir/cmd/loadgen/internal/report"
)

func html(t *testing.T, d report.Document) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, d.WriteHTML(&b))
	return b.String()
}

func chart(c report.Chart) report.Document {
	return report.Document{Title: "t", Sections: []report.Section{{Title: "s", Charts: []report.Chart{c}}}}
}

var drawing = regexp.MustCompile(`(?s)<svg.*?</svg>`)

// points are the drawn lines' points, and proof that the drawing is well
// formed.
func points(t *testing.T, page string) (all []string) {
	t.Helper()
	svg := drawing.FindString(page)
	require.NotEmpty(t, svg)
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err, svg)
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "polyline" {
			for _, a := range e.Attr {
				if a.Name.Local == "points" {
					all = append(all, a.Value)
				}
			}
		}
	}
}

func TestOneFileThatNeedsNothingElse(t *testing.T) {
	page := html(t, chart(report.Chart{Title: "c", Series: []report.Series{{Name: "a", X: []float64{0, 1}, Y: []float64{0, 2}}}}))
	require.Contains(t, page, "default-src 'none'")
	for _, bad := range []string{"<script", "http://", "https://", "@import", "url("} {
		require.NotContains(t, page, bad)
	}
}

// What logs and names can hold must not become part of the page.
func TestTextFromRunsIsEscapedEverywhere(t *testing.T) {
	const evil = `<script>alert(1)</script>"'&`
	page := html(t, report.Document{
		Title: evil, Lead: evil, Verdict: evil,
		Sections: []report.Section{{
			Title: evil, Text: []string{evil},
			Tables: []report.Table{{Title: evil, Columns: []string{evil}, Rows: [][]string{{evil}}}},
			Charts: []report.Chart{{Title: evil, X: evil, Y: evil, Series: []report.Series{{Name: evil, X: []float64{0, 1}, Y: []float64{0, 1}}}, Marks: []report.Mark{{X: 0.5, Text: evil}}}},
		}},
	})
	require.NotContains(t, page, "<script")
	require.Len(t, points(t, page), 1)
}

func TestChartsOfAnythingAreWellFormed(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]report.Chart{
		"nothing":    {},
		"no points":  {Series: []report.Series{{Name: "a"}}},
		"one point":  {Series: []report.Series{{Name: "a", X: []float64{5}, Y: []float64{5}}}},
		"all zero":   {Series: []report.Series{{Name: "a", X: []float64{1, 2}, Y: []float64{0, 0}}}},
		"not finite": {Series: []report.Series{{Name: "a", X: []float64{1, nan, 3, inf}, Y: []float64{nan, 1, inf, 2}}}},
		"uneven":     {Series: []report.Series{{Name: "a", X: []float64{1, 2, 3}, Y: []float64{1}}}},
		"huge":       {Series: []report.Series{{Name: "a", X: []float64{0, 1}, Y: []float64{-1e300, 1e300}}}},
		"tiny":       {Series: []report.Series{{Name: "a", X: []float64{0, 1e-12}, Y: []float64{1e-12, 2e-12}}}},
		"log of 0":   {Log: true, Series: []report.Series{{Name: "a", X: []float64{0, 1, 2}, Y: []float64{0, 1, 1000}}}},
	} {
		page := html(t, chart(c))
		for _, p := range points(t, page) {
			require.NotContains(t, p, "NaN", name)
			require.NotContains(t, p, "Inf", name)
		}
		require.Less(t, len(page), 100_000, name)
	}
}

func TestAGapIsNotBridgedAndAPeakIsNotLost(t *testing.T) {
	page := html(t, chart(report.Chart{Series: []report.Series{{Name: "a", X: []float64{0, 1, 2, 3, 4}, Y: []float64{1, 1, math.NaN(), 1, 1}}}}))
	require.Len(t, points(t, page), 2)

	long := report.Series{Name: "a"}
	for i := range 100_000 {
		long.X, long.Y = append(long.X, float64(i)), append(long.Y, 1)
	}
	long.Y[54_321] = 100
	drawn := points(t, html(t, chart(report.Chart{Series: []report.Series{long}})))
	require.Len(t, drawn, 1)
	require.Less(t, strings.Count(drawn[0], ","), 2000)
	require.Contains(t, drawn[0], ",26.0 ", "the peak touches the top")
}

func TestTextTablesAreAligned(t *testing.T) {
	var b bytes.Buffer
	tab := report.Table{Title: "t", Columns: []string{"", "n"}, Rows: [][]string{{"été", "1"}, {"b", "1000"}}}
	require.NoError(t, tab.WriteText(&b, "> "))
	require.Equal(t, "> t\n>         n\n> été     1\n> b    1000\n", b.String())
}

func TestNumbersAreNotFlattered(t *testing.T) {
	for share, want := range map[float64]string{1: "100 %", 0.9999: "99.9 %", 0.99949: "99.9 %", 0.5: "50.0 %", 0.0001: "<0.1 %", 0: "0 %"} {
		require.Equal(t, want, report.Percent(share))
	}
	for d, want := range map[time.Duration]string{
		0: "0 ns", 999: "999 ns", 1500: "1.50 µs", 20 * time.Millisecond: "20.0 ms", 1234 * time.Millisecond: "1.23 s", 100 * time.Second: "100 s", -time.Second: "-1.00 s",
	} {
		require.Equal(t, want, report.Duration(d))
	}
}
