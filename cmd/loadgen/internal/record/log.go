package record

import (
	"fmt"
	"io"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// Log writes interval histograms in the HdrHistogram log format 1.3, values in
// nanoseconds, one tag per series, as the usual log analysers read it.
type Log struct {
	w     *hdr.HistogramLogWriter
	start time.Time
}

// NewLog writes the log's head; comment is one line.
func NewLog(w io.Writer, start time.Time, comment string) (*Log, error) {
	l := &Log{w: hdr.NewHistogramLogWriter(w), start: start}
	l.w.SetBaseTime(start.UnixMilli())
	for _, err := range []error{
		l.w.OutputComment("#[" + comment + "]"),
		l.w.OutputLogFormatVersion(),
		l.w.OutputStartTime(start.UnixMilli()),
		l.w.OutputLegend(),
	} {
		if err != nil {
			return nil, fmt.Errorf("record: histogram log: %w", err)
		}
	}
	return l, nil
}

// Interval writes what h counted between from and to, times since the start.
// The tag has no comma, space or line break.
func (l *Log) Interval(tag string, from, to time.Duration, h *Histogram) error {
	h.h.SetTag(tag)
	h.h.SetStartTimeMs(l.start.Add(from).UnixMilli())
	h.h.SetEndTimeMs(l.start.Add(to).UnixMilli())
	if err := l.w.OutputIntervalHistogram(h.h); err != nil {
		return fmt.Errorf("record: histogram log: tag %q: %w", tag, err)
	}
	return nil
}
