package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Columns say which field of a JSON line or column of a CSV file holds what.
// An empty one is looked for under the usual names.
type Columns struct {
	Time, Method, Path, User, Status, Cost, Duration string
}

// ParseColumns reads "time=ts,user=tenant,cost=tokens".
func ParseColumns(s string) (c Columns, err error) {
	if s == "" {
		return c, nil
	}
	fields := c.fields()
	for pair := range strings.SplitSeq(s, ",") {
		name, column, ok := strings.Cut(pair, "=")
		i := slices.Index(columnNames, strings.TrimSpace(name))
		if !ok || i < 0 || strings.TrimSpace(column) == "" {
			return c, fmt.Errorf("columns %q: write NAME=COLUMN, where NAME is one of %s", pair, strings.Join(columnNames, ", "))
		}
		*fields[i] = strings.TrimSpace(column)
	}
	return c, nil
}

// columnNames are the names that ParseColumns knows, in the order of fields.
var columnNames = []string{"time", "method", "path", "user", "status", "cost", "duration"}

func (c *Columns) fields() []*string {
	return []*string{&c.Time, &c.Method, &c.Path, &c.User, &c.Status, &c.Cost, &c.Duration}
}

// usual are the names under which a column is looked for, in lower case, the
// likeliest first. There is no usual name for a cost.
var usual = [][]string{
	{"time", "ts", "timestamp", "@timestamp", "startutc", "time_iso8601", "datetime", "date", "offset_s", "offset"},
	{"method", "requestmethod", "request_method", "http_method", "verb"},
	{"path", "requestpath", "request_path", "request_uri", "uri", "url"},
	{"user", "user_id", "tenant", "api_key", "account", "clienthost", "client_ip", "remote_addr", "remote_ip", "clientip", "ip", "host"},
	{"status", "downstreamstatus", "status_code", "response_code", "code"},
	{},
	{"duration", "request_time", "duration_ms", "latency_ms", "latency", "elapsed_ms"},
}

// Format is how a line is read.
type Format uint8

// The formats. Auto tells JSON from the access log formats line by line, and a
// CSV file by its first line.
const (
	Auto Format = iota
	Combined
	JSON
	CSV
)

// ParseFormat reads a format's name.
func ParseFormat(s string) (Format, error) {
	i := slices.Index([]string{"auto", "combined", "json", "csv"}, s)
	if i < 0 {
		return 0, fmt.Errorf("format %q: must be auto, combined, json or csv", s)
	}
	return Format(i), nil
}

// maxLine is the longest line that is read; longer ones are malformed.
const maxLine = 1 << 20

// errNoTime is why an event without a time is malformed.
var errNoTime = errors.New("no readable time")

// Read reads a log to its end and returns its events in order of time. The
// error is that of r, or that no line could be read as an event; everything
// else is a Problem.
func Read(r io.Reader, f Format, c Columns) ([]Event, Problems, error) {
	p := Problems{Malformed: map[string]int{}, First: map[string]int{}, Methods: map[string]int{}}
	in := bufio.NewReaderSize(r, 1<<16)
	var (
		events []Event
		csv    *csvReader
		jsons  = jsonReader{columns: c}
		number int
	)
	for {
		line, err := readLine(in)
		if err != nil && !errors.Is(err, errLong) && len(line) == 0 {
			if errors.Is(err, io.EOF) {
				break
			}
			return nil, p, fmt.Errorf("replay: line %d: %w", number+1, err)
		}
		if errors.Is(err, io.EOF) {
			err = nil // the last line has no end
		}
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 && err == nil {
			continue
		}
		p.Lines++
		var e Event
		fault := err
		switch {
		case errors.Is(err, errLong):
		case csv != nil:
			fault = csv.event(line, &e)
		case f == CSV || f == Auto && number == 1 && looksLikeCSV(line):
			csv, fault = newCSV(line, c)
			if fault != nil {
				return nil, p, fmt.Errorf("replay: line %d: %w", number, fault)
			}
			p.Lines--
			continue
		case f == JSON || f == Auto && line[0] == '{':
			fault = jsons.event(line, &e)
		default:
			fault = combined(line, &e)
		}
		if fault == nil && e.At.IsZero() {
			fault = errNoTime
		}
		if fault != nil {
			p.malformed(fault, number)
			continue
		}
		if e.Method == "" {
			e.Method = "GET"
		}
		if !slices.Contains(known, e.Method) {
			p.Methods[clip(e.Method)]++
		}
		if e.Cost == 0 {
			e.Cost = 1
		}
		events = append(events, e)
	}
	if len(events) == 0 {
		return nil, p, fmt.Errorf("replay: none of %d lines could be read as a request", p.Lines)
	}
	inOrder(events, &p)
	return events, p, nil
}

var errLong = errors.New("longer than 1 MiB")

// readLine returns a line without its end; of a too long one it returns the
// beginning and errLong.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	long := slices.Clone(line)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = in.ReadSlice('\n')
		if len(long) <= maxLine {
			long = append(long, line...)
		}
	}
	if len(long) > maxLine {
		return long[:maxLine], errLong
	}
	return long, err
}

func (p *Problems) malformed(why error, line int) {
	s := why.Error()
	p.Malformed[s]++
	if p.First[s] == 0 {
		p.First[s] = line
	}
}

// clip bounds what a log can put into a report.
func clip(s string) string {
	const most = 24
	s = strings.ToValidUTF8(s, "?")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
