package replay

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// set puts the named fields' texts into the event. durationUnit is what a bare
// number of a duration counts.
func (e *Event) set(values []string, durationUnit time.Duration) error {
	if values[0] == "" {
		return errNoTime
	}
	at, err := when(values[0])
	if err != nil {
		return err
	}
	e.At, e.Method, e.Path, e.User = at, strings.ToUpper(values[1]), values[2], values[3]
	e.Status, _ = strconv.Atoi(values[4]) // 0: unknown
	if values[5] != "" {
		cost, err := strconv.ParseFloat(values[5], 64)
		if err != nil || !(cost >= 0 && cost < 1<<53) {
			return errors.New("no readable cost")
		}
		e.Cost = max(1, int64(math.Ceil(cost)))
	}
	e.Duration = duration(values[6], durationUnit)
	return nil
}

// layouts are the ways a time is written.
var layouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "02/Jan/2006:15:04:05 -0700", "2006-01-02 15:04:05.999999999 -0700 MST"}

// when reads a time. A bare number is seconds, milliseconds, microseconds or
// nanoseconds since 1970, whichever lies after 1973; a smaller one is seconds
// since the log began.
func when(s string) (time.Time, error) {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		const from = 1e8 // seconds, in 1973
		switch {
		case !(f >= 0 && f < 1e19):
			return time.Time{}, errNoTime
		case f < from*1e3:
			whole, frac := math.Modf(f)
			return time.Unix(int64(whole), int64(math.Round(frac*1e9))).UTC(), nil
		case f < from*1e6:
			return time.UnixMicro(int64(f * 1e3)).UTC(), nil
		case f < from*1e9:
			return time.UnixMicro(int64(f)).UTC(), nil
		}
		return time.Unix(0, int64(f)).UTC(), nil
	}
	for _, l := range layouts {
		if t, err := time.Parse(l, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errNoTime
}

// duration reads "3ms" or a number of units; 0 is unknown.
func duration(s string, unit time.Duration) time.Duration {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if d := f * float64(unit); d > 0 && d < float64(24*time.Hour) {
			return time.Duration(d)
		}
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0
	}
	return d
}

// unitOf guesses what a duration's numbers count from its column's name.
func unitOf(column string) time.Duration {
	switch c := strings.ToLower(column); {
	case strings.HasSuffix(c, "ms"):
		return time.Millisecond
	case strings.HasSuffix(c, "us"):
		return time.Microsecond
	case column == "Duration": // capitalised: a proxy that logs Go durations
		return time.Nanosecond
	}
	return time.Second
}

// jsonReader reads objects, one a line. Which of the usual names a log uses is
// asked of every line: logs change.
type jsonReader struct{ columns Columns }

func (j *jsonReader) event(line []byte, e *Event) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil {
		return errors.New("not JSON")
	}
	lower := make(map[string]string, len(fields))
	for name := range fields {
		lower[strings.ToLower(name)] = name
	}
	values := make([]string, len(columnNames))
	unit := time.Second
	for i, want := range j.columns.fields() {
		names := usual[i]
		if *want != "" {
			names = []string{strings.ToLower(*want)}
		}
		for _, n := range names {
			if name, ok := lower[n]; ok {
				values[i] = text(fields[name])
				if columnNames[i] == "duration" {
					unit = unitOf(name)
				}
				break
			}
		}
	}
	return e.set(values, unit)
}

// text is a JSON string or number as text; anything else is "".
func text(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	switch c := raw[0]; {
	case c == '"':
		var s string
		_ = json.Unmarshal(raw, &s) // the line was valid
		return s
	case c == '-' || c >= '0' && c <= '9':
		return string(raw)
	}
	return ""
}

// csvReader reads the lines below a CSV file's head. Fields do not span lines.
type csvReader struct {
	index []int // of each column; -1: not there
	unit  time.Duration
}

func looksLikeCSV(line []byte) bool {
	if bytes.IndexByte(line, ',') < 0 || line[0] == '{' || bytes.ContainsAny(line, "[") {
		return false
	}
	_, err := newCSV(line, Columns{})
	return err == nil
}

func newCSV(head []byte, c Columns) (*csvReader, error) {
	names, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(head, []byte("\ufeff")))).Read()
	if err != nil {
		return nil, fmt.Errorf("the head of the CSV file: %w", err)
	}
	r := &csvReader{unit: time.Second}
	for i, want := range c.fields() {
		at := -1
		candidates := usual[i]
		if *want != "" {
			candidates = []string{strings.ToLower(*want)}
		}
		for _, n := range candidates {
			if at = slices.IndexFunc(names, func(s string) bool { return strings.ToLower(strings.TrimSpace(s)) == n }); at >= 0 {
				break
			}
		}
		if at < 0 && *want != "" {
			return nil, fmt.Errorf("no column %q in the CSV file; there are %s", *want, strings.Join(names, ", "))
		}
		if at >= 0 && columnNames[i] == "duration" {
			r.unit = unitOf(names[at])
		}
		r.index = append(r.index, at)
	}
	if r.index[0] < 0 {
		return nil, fmt.Errorf("no column with a time in the CSV file: name it, -columns time=...; there are %s", strings.Join(names, ", "))
	}
	return r, nil
}

func (r *csvReader) event(line []byte, e *Event) error {
	record, err := csv.NewReader(bytes.NewReader(line)).Read()
	if err != nil {
		return errors.New("not CSV")
	}
	values := make([]string, len(columnNames))
	for i, at := range r.index {
		if at >= len(record) {
			return errors.New("too few columns")
		}
		if at >= 0 {
			values[i] = strings.TrimSpace(record[at])
		}
	}
	return e.set(values, r.unit)
}
