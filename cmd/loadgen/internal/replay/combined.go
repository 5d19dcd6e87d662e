package replay

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"time"
)

// combined reads a line of the common or the combined log format, or of one
// that begins like them:
//
//	host ident user [time] "method path protocol" status bytes ...
//
// A last field like "3ms" is the duration.
func combined(line []byte, e *Event) error {
	host, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(host) == 0 {
		return errors.New("not in the common log format")
	}
	open := bytes.IndexByte(rest, '[')
	end := bytes.IndexByte(rest, ']')
	if open < 0 || end < open {
		return errors.New("no [time]")
	}
	at, err := time.Parse("02/Jan/2006:15:04:05 -0700", string(rest[open+1:end]))
	if err != nil {
		return errors.New("no readable [time]")
	}
	names := strings.Fields(string(rest[:open]))
	rest = rest[end+1:]
	start := bytes.IndexByte(rest, '"')
	if start < 0 {
		return errors.New("no quoted request")
	}
	rest = rest[start+1:]
	stop := closing(rest)
	if stop < 0 {
		return errors.New("no end of the quoted request")
	}
	method, path, _ := strings.Cut(string(rest[:stop]), " ")
	path, _, _ = strings.Cut(path, " ")
	if method == "" || method == "-" {
		return errors.New("no method in the request")
	}
	fields := strings.Fields(string(rest[stop+1:]))
	e.At, e.Method, e.Path, e.User = at, strings.ToUpper(method), path, string(host)
	if len(names) == 2 && names[1] != "-" {
		e.User = names[1]
	}
	if len(fields) > 0 {
		e.Status, _ = strconv.Atoi(fields[0]) // 0: unknown
		if d, err := time.ParseDuration(fields[len(fields)-1]); err == nil && d >= 0 {
			e.Duration = d
		}
	}
	return nil
}

// closing is where the first quote is that no backslash stands before.
func closing(b []byte) int {
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}
